import { describe, expect, test } from "bun:test";
import { isAtLeastAsTrusted, mostRestrictive, trustOfImport, trustOfWrite } from "../../src/domain/trust.ts";

describe("trust of a write", () => {
  test("follows the policy and what the caller asks, whichever is stricter", () => {
    expect(trustOfWrite({ source: "agent", quarantineInference: false })).toBe("trusted");
    expect(trustOfWrite({ source: "agent", quarantineInference: true })).toBe("trusted");
    expect(trustOfWrite({ source: "agent", requested: "quarantined", quarantineInference: false })).toBe("quarantined");
    expect(trustOfWrite({ source: "inference", quarantineInference: true })).toBe("quarantined");
  });

  test("cannot be loosened by the caller", () => {
    expect(trustOfWrite({ source: "inference", requested: "trusted", quarantineInference: true })).toBe("quarantined");
    expect(trustOfWrite({ source: "agent", isUntrusted: true, requested: "trusted", quarantineInference: false })).toBe("quarantined");
    expect(trustOfWrite({ source: "agent", isUnattended: true, quarantineInference: false })).toBe("quarantined");
  });

  test("ignores a word that is no trust level", () => {
    expect(trustOfWrite({ source: "agent", requested: "maybe", quarantineInference: false })).toBe("trusted");
  });

  test("of an import is its own, unless it looks like a credential", () => {
    expect(trustOfImport("trusted", false)).toBe("trusted");
    expect(trustOfImport("quarantined", false)).toBe("quarantined");
    expect(trustOfImport("trusted", true)).toBe("quarantined");
    expect(trustOfImport(undefined, false)).toBe("trusted");
  });

  test("orders the two levels", () => {
    expect(mostRestrictive("trusted", "quarantined")).toBe("quarantined");
    expect(mostRestrictive()).toBe("trusted");
    expect([isAtLeastAsTrusted("trusted", "quarantined"), isAtLeastAsTrusted("quarantined", "trusted")]).toEqual([true, false]);
  });
});
