/** Identifiers. */

/** A random UUID, version 4, lower case. */
export const newId = (): string => crypto.randomUUID();

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** True for the textual form of a UUID of any version. */
export const isUuid = (text: string): boolean => uuidForm.test(text);
