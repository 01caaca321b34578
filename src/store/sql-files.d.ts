/** SQL files are imported as text (`with { type: "text" }`), so that a compiled executable carries them. */
declare module "*.sql" {
  const text: string;
  export default text;
}
