import type { Engine } from "../engine/engine.ts";
import type { ActivityOperation, Operation } from "../engine/operations.ts";
import { activityAt, submitOwn, timeOfRepeated } from "../engine/own-activities.ts";
import type { ProxySubmission, RepeatedSubmission } from "../engine/proxy-call.ts";
import { fail, KeysteadError } from "../kernel/errors.ts";
import type { OneAtATime } from "../kernel/one-at-a-time.ts";
import type { Signer } from "../signer/client.ts";
import type { StampAuthProxyBodyRequest } from "../signer/protocol.ts";
import type { Reader } from "../storage/engine.ts";

/** The key with which the signer stamps requests for one auth proxy. */
export interface Stamping {
  /** Lowercase hex, compressed. */
  publicKey: string;
  key: Omit<StampAuthProxyBodyRequest, "verb" | "body">;
}

export interface SendingOptions {
  engine: Pick<Engine, "accept" | "registry">;
  signer: Pick<Signer, "ask">;
  read: Reader;
  /** Shared by all requests. Identical requests that arrive together are submitted one at a time, so that the second finds the first. */
  equals: OneAtATime;
  stamping: Stamping;
  remoteAddress: string | undefined;
  isWanted: () => boolean;
  /** Milliseconds. */
  now: number;
}

/** Sends requests that are stamped by an auth proxy's user and processed like all other requests. */
export interface Sender {
  submit(operation: ActivityOperation | string, submission: ProxySubmission): Promise<unknown>;
  submitOnce(operation: ActivityOperation | string, submission: RepeatedSubmission<unknown>): Promise<unknown>;
  ask(path: string, request: object): Promise<Record<string, unknown>>;
}

export function createSender(options: SendingOptions): Sender {
  const { engine, signer, read, equals, stamping, remoteAddress, isWanted, now } = options;
  const { organizationId } = stamping.key;

  async function send(
    operation: Operation,
    body: { organizationId: string } & Record<string, unknown>,
  ): Promise<Record<string, unknown>> {
    const isOfAnother = body.organizationId !== organizationId;
    const text = JSON.stringify(body);
    const { signature } = await signer.ask({ verb: "stampAuthProxyBody", ...stamping.key, body: text }, { isWanted });
    const stamp = { publicKey: stamping.publicKey, signature, scheme: "SIGNATURE_SCHEME_TK_API_P256" };
    const stamps = { "x-stamp": Buffer.from(JSON.stringify(stamp)).toString("base64url") };
    // IP allowlists do not apply: they are for keys that the organization uses itself, and people may be anywhere.
    const origin = { stamps, remoteAddress, isExempt: true, onPrincipal: () => {}, isWanted };
    try {
      return (await engine.accept(operation, origin)(Buffer.from(text))) as Record<string, unknown>;
    } catch (error) {
      throw forPeople(error, isOfAnother);
    }
  }

  const operationOf = (named: ActivityOperation | string): ActivityOperation =>
    typeof named === "string" ? activityAt(engine.registry, named) : named;

  async function submitAt(time: number, operation: ActivityOperation, submission: ProxySubmission): Promise<unknown> {
    const asked = { organizationId, ...submission, now: time };
    const { result, ...activity } = await submitOwn(operation, asked, (body) => send(operation, body));
    return result ?? fail("AUTH_PROXY_NEEDS_APPROVAL", activity);
  }

  return {
    submit: (named, submission) => submitAt(now, operationOf(named), submission),
    async submitOnce(named, { type, parametersAt, isOver }) {
      const operation = operationOf(named);
      const activity = { type, organizationId, parametersAt, isOver, now };
      return equals.run(JSON.stringify([organizationId, type, parametersAt(0)]), async () => {
        const time = await timeOfRepeated(read, operation, activity);
        return submitAt(time, operation, { type, parameters: parametersAt(time) });
      });
    },
    ask(path, request) {
      const operation = engine.registry.byPath(`/public/v1/query/${path}`);
      if (!operation) throw new Error(`there is no query ${path}`);
      return send(operation, { organizationId, ...request });
    },
  };
}

/**
 * Replaces errors that would tell a proxy's callers about its own user (whether it exists, which policies bind it) or about what is wrong
 * with the organization's OAuth credential. If the proxy's user is unknown in an organization that the caller named, that is not one of the
 * proxy's sub-organizations.
 */
function forPeople(error: unknown, isOfAnother: boolean): unknown {
  if (!(error instanceof KeysteadError)) return error;
  if (error.code === "PUBLIC_KEY_NOT_FOUND") {
    return new KeysteadError(isOfAnother ? "ORGANIZATION_NOT_FOUND" : "AUTH_PROXY_UNKNOWN", {}, []);
  }
  if (error.code === "OAUTH2_CREDENTIAL_REFUSED") return new KeysteadError("AUTH_PROXY_CLIENT_REFUSED", {}, []);
  if (error.code !== "PERMISSION_DENIED") return error;
  const reason = "The organization's policies do not allow its auth proxy to do this.";
  return new KeysteadError("PERMISSION_DENIED", { reason }, []);
}
