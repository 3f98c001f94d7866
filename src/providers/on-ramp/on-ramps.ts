import { boundedTurns } from "../../delivery/bounded-turns.ts";
import { type OutboundClient, OutboundError } from "../../delivery/outbound.ts";
import {
  MAX_ON_RAMP_ANSWER_BYTES,
  MAX_ON_RAMP_CALLS,
  MAX_ON_RAMP_CALLS_OF_ONE_ORGANIZATION,
  MAX_RATE_BUCKETS,
  MAX_WAITING_ON_RAMP_CALLS,
  ON_RAMP_REFRESHES,
  ON_RAMP_TIMEOUT_MS,
} from "../../kernel/limits.ts";
import { TokenBuckets } from "../../kernel/token-buckets.ts";
import { createCoinbase } from "./coinbase.ts";
import { createMoonPay } from "./moonpay.ts";
import type { OnRampProviderId } from "./offers.ts";
import {
  type Ask,
  type BegunPurchase,
  type OnRampAccount,
  OnRampProblem,
  type OnRampProvider,
  type OnRampStatus,
  type Purchase,
} from "./provider.ts";

/** A provider's API and the client for it. */
export interface OnRampEndpoint {
  /** The origin of the API. */
  apiUrl: string;
  outbound: Pick<OutboundClient, "request">;
}

/** The organization whose account is used, and the provider. */
export interface OnRampHolder {
  provider: OnRampProviderId;
  /** The parent that owns the account, or whose sub-organization does. Calls to providers are counted for it. */
  rootId: string;
  account: OnRampAccount;
}

export interface OnRamps {
  /** @throws OnRampProblem, and errors of the account */
  begin(holder: OnRampHolder, purchase: Purchase): Promise<{ url: string; signature?: string }>;
  /** Seconds until the provider may be asked again about a purchase. 0 allows this call and counts it. */
  takeRefresh(holder: OnRampHolder): number;
  /** @throws OnRampProblem, and errors of the account */
  statusOf(holder: OnRampHolder, begun: BegunPurchase): Promise<OnRampStatus>;
}

/**
 * Calls to providers are bounded in time and size, and in number for each organization.
 *
 * @param elapsed milliseconds of a clock that never goes back
 */
export function createOnRamps(
  endpoints: Record<OnRampProviderId, OnRampEndpoint>,
  elapsed: () => number = () => performance.now(),
): OnRamps {
  const inTurn = boundedTurns(
    {
      perKey: MAX_ON_RAMP_CALLS_OF_ONE_ORGANIZATION,
      total: MAX_ON_RAMP_CALLS,
      inside: MAX_WAITING_ON_RAMP_CALLS,
      waitMs: ON_RAMP_TIMEOUT_MS,
    },
    () => {
      throw new OnRampProblem("provider", "too many requests wait for it");
    },
  );
  const refreshes = new TokenBuckets(ON_RAMP_REFRESHES, MAX_RATE_BUCKETS, elapsed);
  const providers: Record<OnRampProviderId, OnRampProvider> = {
    FIAT_ON_RAMP_PROVIDER_COINBASE: createCoinbase(endpoints.FIAT_ON_RAMP_PROVIDER_COINBASE.apiUrl),
    FIAT_ON_RAMP_PROVIDER_MOONPAY: createMoonPay(endpoints.FIAT_ON_RAMP_PROVIDER_MOONPAY.apiUrl),
  };

  const askFor = ({ provider, rootId }: OnRampHolder): Ask => {
    const { outbound } = endpoints[provider];
    return (request) => inTurn(rootId, () => send(outbound, request));
  };

  return {
    begin: (holder, purchase) => providers[holder.provider].begin(purchase, holder.account, askFor(holder)),
    takeRefresh: ({ rootId }) => refreshes.take(rootId, 1),
    statusOf: (holder, begun) => providers[holder.provider].statusOf(begun, holder.account, askFor(holder)),
  };
}

async function send(outbound: Pick<OutboundClient, "request">, request: Parameters<Ask>[0]): ReturnType<Ask> {
  try {
    return await outbound.request({
      ...request,
      headers: { ...request.headers, accept: "application/json", "user-agent": "keystead-on-ramp/1" },
      timeoutMs: ON_RAMP_TIMEOUT_MS,
      maxResponseBytes: MAX_ON_RAMP_ANSWER_BYTES,
    });
  } catch (error) {
    throw error instanceof OutboundError ? new OnRampProblem("provider", error.message) : error;
  }
}
