import { intentToStore, messageToStore, storedIntent, storedMessage } from "../../engine/activities/bodies.ts";
import { maskedActivity } from "../../engine/activities/masks.ts";

/** The body of an event about an activity, which is stored without what the activity's own body says. */

interface RenderedActivity extends Record<string, unknown> {
  intent: Record<string, unknown>;
  votes: { message: string }[];
}

/** What is stored of an event whose body is this activity. */
export function eventToStore(body: string | undefined, rendered: Record<string, unknown>): string {
  const { intent, votes } = rendered as RenderedActivity;
  return JSON.stringify({
    ...rendered,
    intent: intentToStore(body, intent),
    votes: votes.map((vote) => ({ ...vote, message: messageToStore(body, vote.message) })),
  });
}

/** The event as it is sent: the same bytes each time, whatever has become of the activity since. */
export function storedEvent(body: string, stored: string): string {
  const rendered = JSON.parse(stored) as RenderedActivity;
  const whole = {
    ...rendered,
    intent: storedIntent(body, rendered.intent),
    votes: rendered.votes.map((vote) => ({ ...vote, message: storedMessage(body, vote.message) })),
  };
  return JSON.stringify(maskedActivity(whole));
}
