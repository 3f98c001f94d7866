import type { Engine } from "../engine/engine.ts";
import type { Principal } from "../engine/identity/authenticate.ts";
import { credentialKinds } from "../engine/identity/credential-kinds.ts";
import type { Operation } from "../engine/operations.ts";
import { pathOf } from "../engine/registry.ts";
import { KeysteadError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/log.ts";
import type { Mount, Route } from "./listener.ts";
import { type ActivityTimesSetting, activityTimesFor, renderAnswer } from "./wire.ts";

export interface ApiOptions {
  engine: Engine;
  log: Logger;
  /** Which form the times of activities have in answers. */
  activityTimes: ActivityTimesSetting;
  /** Told of each answer before it is sent; tests check them against their schemas. */
  onAnswer?: (operation: Operation, body: string) => void;
}

/** The public API: every operation of the registry, which any web page may call. */
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
      const stamps = Object.fromEntries(credentialKinds.map(({ header }) => [header, joined(headers[header])]));
      const onPrincipal = ({ organization, actor }: Principal) =>
        head.note({ organizationId: organization.id, userId: actor.userId });
      const run = engine.accept(operation, { stamps, remoteAddress, onPrincipal, isWanted: head.isWanted });
      return async (body) => {
        try {
          const answer = renderAnswer(await run(body), activityTimesFor(headers, activityTimes));
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

// Node joins repeated headers with a comma; that is no stamp of either kind.
const joined = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(", ") : value;
