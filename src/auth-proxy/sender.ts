import type { Engine } from "../engine/engine.ts";
import type { ActivityOperation, Operation } from "../engine/operations.ts";
import { activityAt, submitOwn, timeOfRepeated } from "../engine/own-activities.ts";
import type { ProxySubmission, RepeatedSubmission } from "../engine/proxy-call.ts";
import { fail, KeysteadError } from "../kernel/errors.ts";
import type { OneAtATime } from "../kernel/one-at-a-time.ts";
import type { Signer } from "../signer/client.ts";
import type { StampAuthProxyBodyRequest } from "../signer/protocol.ts";
import type { Reader } from "../storage/engine.ts";

/** What the signer stamps with for one auth proxy. */
export interface Stamping {
  /** Lowercase hex, compressed. */
  publicKey: string;
  key: Omit<StampAuthProxyBodyRequest, "verb" | "body">;
}

export interface SendingOptions {
  engine: Pick<Engine, "accept" | "registry">;
  signer: Pick<Signer, "ask">;
  read: Reader;
  /** Shared by all requests: equal ones that arrive together are submitted one after the other, so that the second finds the first. */
  equals: OneAtATime;
  stamping: Stamping;
  remoteAddress: string | undefined;
  isWanted: () => boolean;
  /** Milliseconds. */
  now: number;
}

/** Sends ordinary requests, stamped by the user of an auth proxy, the way that all requests go. */
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
    // People are anywhere: the lists of addresses are for the keys that an organization holds itself.
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
 * What is said of the proxy's own user is not for those who call it: whether it is there, and which policies bind it; nor what is
 * wrong with a credential of the organization's. That the user is not known in an organization that they named says that this is none
 * of the proxy's sub-organizations.
 */
function forPeople(error: unknown, isOfAnother: boolean): unknown {
  if (!(error instanceof KeysteadError)) return error;
  if (error.code === "PUBLIC_KEY_NOT_FOUND") {
    return new KeysteadError(isOfAnother ? "ORGANIZATION_NOT_FOUND" : "AUTH_PROXY_UNKNOWN", {}, []);
  }
  if (error.code === "OAUTH2_CREDENTIAL_REFUSED") return new KeysteadError("AUTH_PROXY_CLIENT_REFUSED", {}, []);
  if (error.code !== "PERMISSION_DENIED") return error;
  const reason = "The organization's policies do not let its auth proxy do this.";
  return new KeysteadError("PERMISSION_DENIED", { reason }, []);
}
