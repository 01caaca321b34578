/** A decision as `cuba_decreto action=record` takes it, with so long a way to the choice that nothing short shows both. */
export const recordedDecision = {
  action: "record",
  title: "Queue",
  context: "orders must not get lost, ".repeat(20),
  alternatives: ["Kafka", "a table"],
  chosen: "a table",
  rationale: "It runs already.",
} as const;
