import type { AssetBook } from "../chains/evm/assets.ts";
import type { EvmChain } from "../chains/evm/networks.ts";
import { type SolanaChain, solanaChains } from "../chains/solana/networks.ts";
import type { OutboundClient } from "../delivery/outbound.ts";
import type { OutboundPolicy } from "../delivery/url-rules.ts";
import type { EvmNodes, SolanaNodes } from "../nodes/pool.ts";
import type { Captcha } from "../providers/captcha/turnstile.ts";
import type { Mailer } from "../providers/mail/mailer.ts";
import type { Oauth2Clients } from "../providers/oauth2/exchange.ts";
import type { Images } from "../providers/oci/registry.ts";
import type { OidcVerifier } from "../providers/oidc/verifier.ts";
import type { OnRamps } from "../providers/on-ramp/on-ramps.ts";
import type { SmsSender } from "../providers/sms/sms-sender.ts";
import type { Swaps } from "../providers/swaps/swaps.ts";
import type { Templates } from "../providers/templates/templates.ts";
import type { Runner } from "../runner/runner.ts";
import type { Asker, Signer } from "../signer/client.ts";
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
  /** Begins purchases at on-ramp providers, and asks what became of them. It takes its time as well. */
  onRamps: OnRamps;
  /** Quotes swaps, and tells what became of them; undefined where nobody is to be asked. It takes its time as well. */
  swaps: (Swaps & { terms: SwapTerms }) | undefined;
  /** Where programs of deployments run, and where their images are. */
  deployments: DeploymentHost;
  /** The URL under which clients reach this installation; it is the issuer of its tokens. */
  publicUrl: () => string;
  /** When webhook deliveries are tried, and how long each try may take. */
  webhookSchedule: WebhookSchedule;
  webhookObserver: WebhookObserver;
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
  /** The operator's vaults to earn in, and what the service takes. */
  earn: EarnSettings;
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

export interface DeploymentHost {
  /** Undefined: this server runs none. */
  runner: Pick<Runner, "replicasOf" | "logsOf"> | undefined;
  images: Pick<Images, "resolve">;
  /** Below which the domains of apps are. */
  domain: string;
  /** The newest first. */
  qosVersions: readonly [string, ...string[]];
  /** How long a deleted deployment can be restored. */
  cleanUpAfterMs: number;
}

/** The chains that swaps can be on: those of Ethereum, and the main cluster of Solana. */
export type SwapChain = EvmChain | typeof swapCluster;
export const swapCluster = solanaChains[0];

/** What the operator settles of swaps. */
export interface SwapTerms {
  /** How long a quote is good. */
  quoteLifetimeMs: number;
  /** The first pause between two looks at a swap whose output is on another chain. */
  pollMs: number;
  /** What the service takes of the input; of nothing where nobody receives it. */
  serviceFee: { bps: number; stableBps: number; recipient: string | undefined };
  /** Between which swaps are quoted. */
  chains: readonly SwapChain[];
  /** The contracts that wallets may be made to call, in lowercase; on Solana the programs. */
  contracts: Readonly<Partial<Record<SwapChain, readonly string[]>>>;
}

/** The chains that vaults to earn in can be on ... */
export const earnChains = [
  "eip155:1",
  "eip155:8453",
  "eip155:42161",
  "eip155:137",
  "eip155:56",
  "eip155:4217",
] as const satisfies readonly EvmChain[];
export type EarnChain = (typeof earnChains)[number];
/** ... and their protocols. */
export const earnProviders = ["EARN_PROVIDER_MORPHO", "EARN_PROVIDER_AAVE"] as const;
export type EarnProvider = (typeof earnProviders)[number];

/** A vault of the catalog. */
export interface EarnEntry {
  /** Lowercase. */
  vaultAddress: string;
  chainCaip2: EarnChain;
  provider: EarnProvider;
  name: string;
  /** Empty where the protocol has none. */
  curator: string;
}

export interface EarnSettings {
  /** The service's part of what vaults earn, in basis points; of wrappers that are deployed from now on. */
  serviceFeeBps: number;
  /** Lowercase; that of the sponsor unless it is set. */
  serviceFeeWallet: string | undefined;
  vaults: readonly EarnEntry[];
}

/** Is told of each attempt to deliver a webhook: taken, or not and to be tried again, refused for good, or the last one. */
export interface WebhookObserver {
  attempted(outcome: "delivered" | "failed" | "refused" | "given_up"): void;
}

export interface WebhookSchedule {
  /** Pause before each attempt; the first is at once. */
  retryDelaysMs: readonly number[];
  /** Bound of one attempt. */
  timeoutMs: number;
}

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
