/** How a fired reminder is shown in the answer of the call that met it. */
import type { FiredReminder } from "../services/reminders.ts";

export const shownReminder = (fired: FiredReminder) => ({
  trigger_id: fired.triggerId,
  entity_pattern: fired.entityPattern,
  message: fired.message,
  from_agent: fired.fromAgent,
  fire_count: fired.fireCount,
  deactivated: fired.deactivated,
});
