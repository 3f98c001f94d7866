import type { OutboundClient } from "../delivery/outbound.ts";
import type { OutboundPolicy } from "../delivery/url-rules.ts";
import type { EvmNodes } from "../nodes/evm.ts";
import type { Mailer } from "../providers/mail/mailer.ts";
import type { Oauth2Clients } from "../providers/oauth2/exchange.ts";
import type { OidcVerifier } from "../providers/oidc/verifier.ts";
import type { SmsSender } from "../providers/sms/sms-sender.ts";
import type { Templates } from "../providers/templates/templates.ts";
import type { Signer } from "../signer/client.ts";
import type { Responses, SignerRequest, SignerVerb } from "../signer/protocol.ts";
import type { Database } from "../storage/database.ts";
import type { ActivityOperation, OwnedTable, Planning, Registry } from "./operations.ts";

/** What operations and jobs may name in `needs`. Whoever names nothing gets nothing: no clock, no network, no settings. */
export interface Services {
  /** The guarded client for outbound requests. */
  outbound: OutboundClient;
  /** Which hosts these requests may reach. */
  outboundPolicy: OutboundPolicy;
  /** Verifies OIDC tokens with the keys of their issuers. Asking these takes its time: never in a transaction. */
  oidc: OidcVerifier;
  /** Exchanges codes of OAuth 2.0 providers. It takes its time as well. */
  oauth2: Oauth2Clients;
  /** The URL under which clients reach this installation; it is the issuer of its tokens. */
  publicUrl: () => string;
  /** When webhook deliveries are tried, and how long each try may take. */
  webhookSchedule: WebhookSchedule;
  /** The nodes of the chains that this installation reaches. */
  evm: EvmNodes;
  /** Hands mail over, one attempt at a time; what operations have sent goes through the job of `capabilities/messages`. */
  mailer: Mailer;
  /** The same for text messages. */
  sms: SmsSender;
  /** The operator's templates of mail. */
  mailTemplates: Templates;
  /**
   * A transaction beside the activity's own, for what must be kept though the activity fails: a wrong guess that counts. It runs in
   * `prepare`, after a decision that allows the activity.
   */
  apart: Pick<Database, "transact">;
  /** The declarations of all operations. */
  registry: Registry;
  /** What an operation would plan if it were asked now, for those who try it out. */
  planner: { makePlan(operation: ActivityOperation, planning: Planning): Promise<unknown> };
  /** What goes when an organization is deleted, in this order. */
  erasedTables: readonly OwnedTable[];
}
export type ServiceName = keyof Services;

export interface WebhookSchedule {
  /** Pause before each attempt; the first is at once. */
  retryDelaysMs: readonly number[];
  /** Bound of one attempt. */
  timeoutMs: number;
}

/** The signer, as far as somebody said beforehand what they will ask it. */
export interface AskedSigner<Verb extends SignerVerb> {
  ask<R extends Extract<SignerRequest, { verb: Verb }>>(request: R): Promise<Responses[R["verb"]]>;
}

/** The services of these names, and no others. */
export function servicesFor<Name extends string>(
  all: Services,
  names: readonly Name[],
): Pick<Services, Name & ServiceName> {
  return Object.fromEntries(names.map((name) => [name, all[name as unknown as ServiceName]])) as never;
}

/**
 * The signer for the bearer of these verbs.
 *
 * @throws Error, when it is asked another: a fault of the declaration
 */
export function signerFor(signer: Pick<Signer, "ask">, verbs: readonly SignerVerb[], who: string): Pick<Signer, "ask"> {
  return {
    ask: (request) => {
      if (!verbs.includes(request.verb))
        throw new Error(`${who} asks the signer to ${request.verb}, which it does not declare`);
      return signer.ask(request);
    },
  };
}
