/** One given/when/then line of the specification. */
export interface Requirement {
  readonly id: string;
  /** Section of the page. */
  readonly at: string;
  /** The behaviour, short. */
  readonly says: string;
  /** Files under `test/` with the title of a test, or the beginning of one. */
  readonly by: readonly (readonly [file: string, title: string])[];
  /** What no test shows yet. */
  readonly gap?: string;
}
