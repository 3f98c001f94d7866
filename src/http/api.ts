import type { Answer, Engine } from "../engine/engine.ts";
import type { Principal } from "../engine/identity/authenticate.ts";
import { credentialKinds } from "../engine/identity/credential-kinds.ts";
import type { Operation } from "../engine/operations.ts";
import { pathOf } from "../engine/registry.ts";
import { KeysteadError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/log.ts";
import { joinedHeader } from "./headers.ts";
import type { Mount, Route } from "./route.ts";
import { type ActivityTimesSetting, activityTimesFor, renderAnswer } from "./wire.ts";

export interface ApiOptions {
  engine: Engine;
  log: Logger;
  /** The form of activities' times in answers. */
  activityTimes: ActivityTimesSetting;
  /** Called with each answer before it is sent. Tests check answers against their schemas. */
  onAnswer?: (operation: Operation, body: string) => void;
}

/** The public API: all operations of the registry. Any web page may call them. */
export const api = (options: ApiOptions): Mount => ({
  routes: options.engine.registry.operations.map((operation) => routeOf(operation, options)),
  anyOriginBelow: "/public/",
});

function routeOf(operation: Operation, { engine, log, activityTimes, onAnswer }: ApiOptions): Route {
  return {
    method: "POST",
    path: pathOf(operation),
    operation: operation.path,
    accept(head) {
      const { headers, remoteAddress } = head;
      const stamps: Record<string, string | undefined> = {};
      // A repeated header is not a valid stamp of any kind.
      for (const { header } of credentialKinds) stamps[header] = joinedHeader(headers[header]);
      const onPrincipal = ({ organization, actor }: Principal) =>
        head.note({ organizationId: organization.id, userId: actor.userId });
      const run = engine.accept(operation, { stamps, remoteAddress, onPrincipal, isWanted: head.isWanted });
      return async (body) => {
        try {
          const outcome = await run(body);
          const { activity } = outcome as Partial<Extract<Answer, { activity: unknown }>>;
          // An activity in a query's answer was not created by this request.
          if (operation.kind !== "query" && activity) head.note({ activityId: activity.id });
          const answer = await renderAnswer(outcome, activityTimesFor(headers, activityTimes));
          onAnswer?.(operation, answer);
          return { body: answer };
        } catch (error) {
          if (error instanceof KeysteadError && error.code === "IP_NOT_ALLOWED") {
            log.warn({ requestId: head.id, reason: error.message }, "refused by an IP allowlist");
          }
          throw error;
        }
      };
    },
  };
}
