import type { AssetBook } from "../chains/evm/assets.ts";
import type { EvmChain } from "../chains/evm/networks.ts";
import type { SolanaChain } from "../chains/solana/networks.ts";
import type { OutboundClient } from "../delivery/outbound.ts";
import type { OutboundPolicy } from "../delivery/url-rules.ts";
import type { EvmNodes, SolanaNodes } from "../nodes/pool.ts";
import type { Captcha } from "../providers/captcha/turnstile.ts";
import type { Mailer } from "../providers/mail/mailer.ts";
import type { Oauth2Clients } from "../providers/oauth2/exchange.ts";
import type { OidcVerifier } from "../providers/oidc/verifier.ts";
import type { OnRamps } from "../providers/on-ramp/on-ramps.ts";
import type { SmsSender } from "../providers/sms/sms-sender.ts";
import type { Templates } from "../providers/templates/templates.ts";
import type { Asker, Signer } from "../signer/client.ts";
import type { Responses, SignerRequest, SignerVerb } from "../signer/protocol.ts";
import type { Database } from "../storage/database.ts";
import type { ActivityOperation, OwnedTable, Planning, Registry } from "./operations.ts";

/**
 * The services that operations and jobs can name in `needs`. They receive only those: without `needs`, no network and no settings. The
 * operator's settings of a single capability are added by that capability's own `services.ts`.
 */
export interface Services {
  /** The guarded client for outbound requests. */
  outbound: OutboundClient;
  /** Which hosts these requests may reach. */
  outboundPolicy: OutboundPolicy;
  /** Verifies OIDC tokens with the keys of their issuers, which may have to be fetched: never call it in a transaction. */
  oidc: OidcVerifier;
  /** Exchanges authorization codes at OAuth 2.0 providers. Uses the network as well. */
  oauth2: Oauth2Clients;
  /** Begins purchases at on-ramp providers and polls their status. Uses the network as well. */
  onRamps: OnRamps;
  /** The URL at which clients reach this installation; also the issuer of its tokens. */
  publicUrl: () => string;
  /** How long records of deliveries are kept. */
  retention: Retention;
  /** The nodes of the configured Ethereum chains. */
  evm: EvmNodes;
  /** The nodes of the configured Solana clusters. */
  solana: SolanaNodes;
  /** The contracts that carry out batches and sponsored calls on these chains. */
  gasStations: { of(chain: EvmChain): string };
  /** Whether the sponsor pays the rent of accounts that sponsored transactions create on a Solana cluster. */
  rentPaid: { on(chain: SolanaChain): boolean };
  /** The assets of these chains, and their prices. */
  assets: AssetBook;
  /** Makes one attempt to hand a mail over. Operations queue mail instead; the job of `capabilities/messages` sends it. */
  mailer: Mailer;
  /** The same for text messages. */
  sms: SmsSender;
  /** Verifies the captcha tokens of calls to the auth proxy. */
  captcha: Captcha;
  /** The operator's mail templates. */
  mailTemplates: Templates;
  /**
   * A transaction separate from the activity's own, for what must be stored even if the activity fails, such as a wrong guess of a code. It
   * is used in `prepare`, after a decision that allows the activity.
   */
  apart: Pick<Database, "transact">;
  /** The declarations of all operations. */
  registry: Registry;
  /** The plan that an operation would make now, for simulations. */
  planner: { makePlan(operation: ActivityOperation, planning: Planning): Promise<unknown> };
  /** The tables to erase when an organization is deleted, in this order. */
  erasedTables: readonly OwnedTable[];
  /** Those of them that can hold any number of rows of one organization. */
  largeTables: readonly OwnedTable[];
}
export type ServiceName = keyof Services;

export interface Retention {
  /** How long webhook events are kept, with their deliveries and attempts. */
  webhookEventsMs: number;
  /** How long mail and its events are kept. */
  mailEventsMs: number;
}

/** The signer, limited to the verbs that were declared. */
export interface AskedSigner<Verb extends SignerVerb> {
  /** @param asker for jobs that act for an activity. The asker of an operation is known. */
  ask<R extends Extract<SignerRequest, { verb: Verb }>>(request: R, asker?: Asker): Promise<Responses[R["verb"]]>;
}

/** The services with these names. */
export function servicesFor<Name extends string>(
  all: Services,
  names: readonly Name[],
): Pick<Services, Name & ServiceName> {
  return Object.fromEntries(names.map((name) => [name, all[name as unknown as ServiceName]])) as never;
}

/**
 * The signer, limited to these verbs.
 *
 * @throws Error when it is asked another verb: a bug in the declaration
 */
export function signerFor(signer: Pick<Signer, "ask">, verbs: readonly SignerVerb[], who: string): Pick<Signer, "ask"> {
  return {
    ask: (request, asker) => {
      if (!verbs.includes(request.verb))
        throw new Error(`${who} asks the signer to ${request.verb}, which it does not declare`);
      return signer.ask(request, asker);
    },
  };
}
