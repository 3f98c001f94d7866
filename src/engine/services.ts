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
 * What operations and jobs may name in `needs`. Whoever names nothing gets nothing: no clock, no network, no settings. What the
 * operator settles for one capability, its own `services.ts` adds.
 */
export interface Services {
  /** The guarded client for outbound requests. */
  outbound: OutboundClient;
  /** Which hosts these requests may reach. */
  outboundPolicy: OutboundPolicy;
  /** Verifies OIDC tokens with the keys of their issuers. Asking these takes its time: never in a transaction. */
  oidc: OidcVerifier;
  /** Exchanges codes of OAuth 2.0 providers. It takes its time as well. */
  oauth2: Oauth2Clients;
  /** Begins purchases at on-ramp providers, and asks what became of them. It takes its time as well. */
  onRamps: OnRamps;
  /** The URL under which clients reach this installation; it is the issuer of its tokens. */
  publicUrl: () => string;
  /** How long what was only on its way is kept. */
  retention: Retention;
  /** The nodes of the Ethereum chains that this installation reaches ... */
  evm: EvmNodes;
  /** ... and those of the Solana clusters. */
  solana: SolanaNodes;
  /** Through which contracts batches and sponsored calls go on these chains. */
  gasStations: { of(chain: EvmChain): string };
  /** Whether the rent of accounts that sponsored transactions create is paid on a cluster of Solana. */
  rentPaid: { on(chain: SolanaChain): boolean };
  /** The assets of these chains, and their prices. */
  assets: AssetBook;
  /** Hands mail over, one attempt at a time; what operations have sent goes through the job of `capabilities/messages`. */
  mailer: Mailer;
  /** The same for text messages. */
  sms: SmsSender;
  /** Whether people send what comes through the auth proxy. */
  captcha: Captcha;
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
  /** Of these, those of which there may be any number of rows. */
  largeTables: readonly OwnedTable[];
}
export type ServiceName = keyof Services;

export interface Retention {
  /** Of events of webhooks, with their deliveries and attempts. */
  webhookEventsMs: number;
  /** Of events of mail, and of what is known of the mail. */
  mailEventsMs: number;
}

/** The signer, as far as somebody said beforehand what they will ask it. */
export interface AskedSigner<Verb extends SignerVerb> {
  /** @param asker for jobs, which are about no activity unless they say so; that of an operation is known */
  ask<R extends Extract<SignerRequest, { verb: Verb }>>(request: R, asker?: Asker): Promise<Responses[R["verb"]]>;
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
    ask: (request, asker) => {
      if (!verbs.includes(request.verb))
        throw new Error(`${who} asks the signer to ${request.verb}, which it does not declare`);
      return signer.ask(request, asker);
    },
  };
}
