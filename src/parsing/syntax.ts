/** Which nodes of each grammar define, call and import something. One table a language; `extract.ts` walks. */
import type { Node } from "web-tree-sitter";
import type { CodeLanguage } from "../domain/code/languages.ts";

export interface Definition {
  readonly kind: string;
  readonly name: string;
  /** The type it belongs to, where the node says so itself (a Go method). */
  readonly container?: string;
  /** Its own definitions belong to it. */
  readonly contains?: true;
  /** Calls inside are its calls. */
  readonly calls?: true;
}

/** Where a node stands: the type around it, and whether a function is around it. */
export interface Place {
  readonly container: string | undefined;
  readonly insideFunction: boolean;
}

export interface Syntax {
  /** What a node defines. */
  define(node: Node, place: Place): Definition | undefined;
  /** The type whose members stand inside a node that defines nothing itself (an `impl`). */
  memberOf(node: Node): string | undefined;
  /** The simple name that a node calls. */
  callee(node: Node): string | undefined;
  /** What a node imports. */
  imports(node: Node): readonly string[];
}

const field = (node: Node | null, name: string): Node | null => node?.childForFieldName(name) ?? null;
const textAt = (node: Node | null, name: string): string | undefined => field(node, name)?.text;
const unquoted = (text: string): string => text.replace(/^["'`]|["'`]$/g, "");

/** Objects that the runtime brings; what is called on them is not in the tree. */
const globals = new Set(["Array", "Date", "JSON", "Math", "Number", "Object", "Promise", "Reflect", "String", "console", "process"]);
/**
 * Methods of what the runtime brings: `words.join(" ")` is an array's, whatever function of that name lies elsewhere in the tree. Without it a lone helper called
 * `join` or `some` was the busiest symbol of a repository. On `this` the name is the class's own.
 */
const builtInMethods = new Set(
  [Array, String, Map, Set, Promise, RegExp, Date, Function].flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype)),
);
const functionValues = new Set(["arrow_function", "function_expression", "generator_function"]);
const identifiers = new Set(["identifier", "property_identifier", "private_property_identifier", "field_identifier", "type_identifier"]);

const isOfTheRuntime = (object = "", property = ""): boolean => globals.has(object) || (object !== "this" && builtInMethods.has(property));

/** The last name of an expression that is called: `f`, `a.b.f`, `a::f`, `f::<T>`. */
function lastName(node: Node | null): string | undefined {
  switch (node?.type) {
    case "identifier":
    case "type_identifier":
      return node.text;
    case "member_expression":
      // `Math.floor` is nobody's `floor`.
      return isOfTheRuntime(textAt(node, "object"), textAt(node, "property")) ? undefined : textAt(node, "property");
    case "attribute":
      return textAt(node, "attribute");
    case "selector_expression":
    case "field_expression":
      return textAt(node, "field");
    case "scoped_identifier":
      return textAt(node, "name");
    case "generic_function":
      return lastName(field(node, "function"));
    default:
      return undefined;
  }
}

const named = (node: Node, kind: string, more: Omit<Definition, "kind" | "name"> = {}): Definition | undefined => {
  const name = field(node, "name");
  return name !== null && identifiers.has(name.type) ? { kind, name: name.text, ...more } : undefined;
};

const ecmaScript: Syntax = {
  define(node, place) {
    switch (node.type) {
      case "function_declaration":
      case "generator_function_declaration":
        return named(node, "function", { calls: true });
      case "class_declaration":
      case "abstract_class_declaration":
        return named(node, "class", { contains: true });
      case "interface_declaration":
        return named(node, "interface");
      case "type_alias_declaration":
        return named(node, "type");
      case "enum_declaration":
        return named(node, "enum");
      case "method_definition":
        // A method of an object literal belongs to no type that could be named.
        return place.container === undefined ? undefined : named(node, "function", { calls: true });
      case "public_field_definition":
      case "field_definition":
        return functionValues.has(field(node, "value")?.type ?? "")
          ? (named(node, "function", { calls: true }) ?? propertyFunction(node))
          : undefined;
      case "variable_declarator":
        return !place.insideFunction && functionValues.has(field(node, "value")?.type ?? "")
          ? named(node, "function", { calls: true })
          : undefined;
      default:
        return undefined;
    }
  },
  memberOf: () => undefined,
  callee(node) {
    switch (node.type) {
      case "call_expression":
        return lastName(field(node, "function"));
      case "new_expression":
        return lastName(field(node, "constructor"));
      case "jsx_opening_element":
      case "jsx_self_closing_element":
        return lastName(field(node, "name"));
      default:
        return undefined;
    }
  },
  imports(node) {
    if (node.type === "import_statement" || node.type === "export_statement") {
      const source = textAt(node, "source");
      return source === undefined ? [] : [unquoted(source)];
    }
    if (node.type !== "call_expression") return [];
    const called = field(node, "function");
    if (called?.type !== "import" && called?.text !== "require") return [];
    const [only] = field(node, "arguments")?.namedChildren ?? [];
    return only?.type === "string" ? [unquoted(only.text)] : [];
  },
};

/** JavaScript's grammar calls the name of a class field a property. */
function propertyFunction(node: Node): Definition | undefined {
  const name = textAt(node, "property");
  return name === undefined ? undefined : { kind: "function", name, calls: true };
}

/** `*T`, `T[K]` and `T` are the type T. */
function goReceiver(node: Node): string | undefined {
  const declared = field(node, "receiver")?.namedChildren.find((child) => child?.type === "parameter_declaration");
  let type = field(declared ?? null, "type");
  if (type?.type === "pointer_type") type = type.namedChildren[0] ?? null;
  if (type?.type === "generic_type") type = field(type, "type");
  return type?.type === "type_identifier" ? type.text : undefined;
}

const goTypes: Readonly<Record<string, string>> = { struct_type: "struct", interface_type: "interface" };

const go: Syntax = {
  define(node) {
    switch (node.type) {
      case "function_declaration":
        return named(node, "function", { calls: true });
      case "method_declaration": {
        const container = goReceiver(node);
        return named(node, "function", { calls: true, ...(container === undefined ? {} : { container }) });
      }
      case "type_spec":
        return named(node, goTypes[field(node, "type")?.type ?? ""] ?? "type");
      default:
        return undefined;
    }
  },
  memberOf: () => undefined,
  callee: (node) => (node.type === "call_expression" ? lastName(field(node, "function")) : undefined),
  imports(node) {
    const path = node.type === "import_spec" ? textAt(node, "path") : undefined;
    return path === undefined ? [] : [unquoted(path)];
  },
};

/** The name of the type that an `impl` is for, without its parameters. */
function rustType(node: Node | null): string | undefined {
  switch (node?.type) {
    case "type_identifier":
    case "primitive_type":
      return node.text;
    case "generic_type":
    case "reference_type":
      return rustType(field(node, "type"));
    case "scoped_type_identifier":
      return textAt(node, "name");
    default:
      return undefined;
  }
}

/** A `use` without aliases, lists and wildcards: the path they hang from. */
function usePaths(node: Node | null): string[] {
  switch (node?.type) {
    case "use_as_clause":
    case "scoped_use_list": {
      const path = textAt(node, "path");
      return path === undefined ? [] : [path];
    }
    case "use_wildcard":
      return usePaths(node.namedChildren[0] ?? null);
    case "use_list":
      return node.namedChildren.flatMap(usePaths);
    default:
      return node === null ? [] : [node.text];
  }
}

const rust: Syntax = {
  define(node) {
    if (node.type === "function_item") return named(node, "function", { calls: true });
    return node.type === "struct_item" ? named(node, "struct") : undefined;
  },
  memberOf: (node) =>
    node.type === "impl_item" ? rustType(field(node, "type")) : node.type === "trait_item" ? textAt(node, "name") : undefined,
  callee: (node) => (node.type === "call_expression" ? lastName(field(node, "function")) : undefined),
  imports: (node) => (node.type === "use_declaration" ? usePaths(field(node, "argument")) : []),
};

const python: Syntax = {
  define(node) {
    if (node.type === "function_definition") return named(node, "function", { calls: true });
    return node.type === "class_definition" ? named(node, "class", { contains: true }) : undefined;
  },
  memberOf: () => undefined,
  callee: (node) => (node.type === "call" ? lastName(field(node, "function")) : undefined),
  imports(node) {
    if (node.type === "import_from_statement") {
      const module = textAt(node, "module_name");
      return module === undefined ? [] : [module];
    }
    if (node.type !== "import_statement") return [];
    return node.childrenForFieldName("name").flatMap((each) => {
      const path = each?.type === "aliased_import" ? textAt(each, "name") : each?.text;
      return path === undefined ? [] : [path];
    });
  },
};

export const syntaxOf: Readonly<Record<CodeLanguage, Syntax>> = { typescript: ecmaScript, javascript: ecmaScript, go, rust, python };
