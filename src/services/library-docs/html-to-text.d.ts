/** The part of html-to-text that we call; the package ships no types. */
declare module "html-to-text" {
  export interface Selector {
    readonly selector: string;
    readonly format?: string;
    readonly options?: Readonly<Record<string, unknown>>;
  }
  export function convert(html: string, options: { readonly wordwrap: number; readonly selectors: readonly Selector[] }): string;
}
