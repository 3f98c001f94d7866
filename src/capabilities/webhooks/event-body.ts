import { intentToStore, messageToStore, storedIntent, storedMessage } from "../../engine/activities/bodies.ts";
import { maskedActivity } from "../../engine/activities/masks.ts";

/** The body of an event about an activity. It is stored without the parts that the activity's own stored body contains. */

interface RenderedActivity extends Record<string, unknown> {
  intent: Record<string, unknown>;
  votes: { message: string }[];
}

/** The form in which an event with this activity as its body is stored. */
export function eventToStore(body: string | undefined, rendered: Record<string, unknown>): string {
  const { intent, votes } = rendered as RenderedActivity;
  return JSON.stringify({
    ...rendered,
    intent: intentToStore(body, intent),
    votes: votes.map((vote) => ({ ...vote, message: messageToStore(body, vote.message) })),
  });
}

/** The event as it is sent. The bytes are the same each time, even if the activity has changed since. */
export function storedEvent(body: string, stored: string): string {
  const rendered = JSON.parse(stored) as RenderedActivity;
  const whole = {
    ...rendered,
    intent: storedIntent(body, rendered.intent),
    votes: rendered.votes.map((vote) => ({ ...vote, message: storedMessage(body, vote.message) })),
  };
  return JSON.stringify(maskedActivity(whole));
}
