import type { EvmChain } from "../../chains/evm/networks.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import { enqueue } from "../../engine/jobs/jobs.ts";
import type { Organization } from "../../engine/operations.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_BOOKED_BESIDE, MAX_CLOCKS_APART_MS, MAX_EARN_WRAPPERS } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";
import type { EarnAsset } from "./model.ts";
import type { EarnChain, EarnProvider, earnChains } from "./services.ts";

/** The wrappers of organizations, the requests for them, and the positions of wallets. Addresses are lowercase. */

export interface Wrapper {
  /** The parent organization that owns it. */
  organizationId: string;
  wrapperAddress: string;
  splitterAddress: string;
  chain: EarnChain;
  vaultAddress: string;
  provider: EarnProvider;
  name: string;
  curator: string;
  asset: EarnAsset;
  clientFeeBps: number;
  serviceFeeBps: number;
  clientFeeWallet: string;
  depositsDisabled: boolean;
  deployRequestId: string;
}

export type RequestKind = Schema["earn_requests"]["kind"];

export interface EarnRequest {
  organizationId: string;
  /** Also the id of its last transaction. */
  id: string;
  kind: RequestKind;
  wrapperAddress: string;
  walletAddress: string;
  /** Digits, or MAX. */
  amount: string;
  status: Schema["earn_requests"]["status"];
  transactionHash: string;
  error: string | undefined;
  /** Its effect on the totals of its position. */
  booked: Booking | undefined;
  createdAt: number;
}

/** A change of totals, in the asset. Either amount may be negative. */
export interface Booking {
  deposited: bigint;
  withdrawn: bigint;
  /** The block of its transaction. Absent in rows of earlier versions. */
  block?: number;
  /** For a full withdrawal, the block at which the remaining value was read. */
  readAt?: BlockRead;
}

export interface BlockRead {
  number: number;
  hash: string;
}

/** The wrappers of an organization, or of the parent whose wrappers it uses; oldest first. */
export async function findWrappers(read: Reader, organization: Organization): Promise<Wrapper[]> {
  const rows = await selectWrappers(read, { organizationId: rootIdOf(organization) });
  return rows.sort((one, other) => one.created_at - other.created_at).map(wrapperOf);
}

/** The wrapper at an address, of the organization or its parent; undefined if neither has one there. */
export async function findWrapper(
  read: Reader,
  organization: Organization,
  wrapperAddress: string,
): Promise<Wrapper | undefined> {
  const key = { organizationId: rootIdOf(organization), wrapperAddress: wrapperAddress.toLowerCase() };
  const [row] = await selectWrapper(read, key);
  return row && wrapperOf(row);
}

/**
 * The wrapper at an address, even if it is not deployed yet.
 *
 * @throws KeysteadError EARN_SETUP_REQUIRED
 */
export async function requireKnownWrapper(
  read: Reader,
  organization: Organization,
  wrapperAddress: string,
): Promise<Wrapper> {
  return (
    (await findWrapper(read, organization, wrapperAddress)) ??
    fail("EARN_SETUP_REQUIRED", {
      reason: `the organization has no wrapper ${wrapperAddress}; list_earn_enabled_vaults shows the existing ones, and earn_deploy_wrapper creates one`,
    })
  );
}

/**
 * A wrapper that is deployed.
 *
 * @throws KeysteadError EARN_SETUP_REQUIRED; FIELD_INVALID for another chain
 */
export async function requireWrapper(
  read: Reader,
  organization: Organization,
  wrapperAddress: string,
  chain?: EvmChain,
): Promise<Wrapper> {
  const wrapper = await requireKnownWrapper(read, organization, wrapperAddress);
  if (chain !== undefined && wrapper.chain !== chain) {
    fail("FIELD_INVALID", {
      field: "parameters.chainCaip2",
      reason: `is not the wrapper's chain, which is ${wrapper.chain}`,
    });
  }
  const { status, error } = await requireRequest(read, wrapper.organizationId, wrapper.deployRequestId, "DEPLOY");
  if (status === "COMPLETED") return wrapper;
  return fail("EARN_SETUP_REQUIRED", {
    reason:
      status === "PENDING"
        ? `the wrapper ${wrapperAddress} is being deployed; wait until get_earn_deploy_status says COMPLETED`
        : `the wrapper ${wrapperAddress} cannot be used (${error}); send earn_deploy_wrapper again`,
  });
}

/** The transaction must hold the organization's scope, so that concurrent additions cannot exceed the limit. */
export async function addWrapper(tx: Transactor, wrapper: Wrapper, now: number): Promise<void> {
  await tx
    .insertInto("earn_wrappers")
    .values({
      organization_id: wrapper.organizationId,
      wrapper_address: wrapper.wrapperAddress,
      splitter_address: wrapper.splitterAddress,
      caip2: wrapper.chain,
      vault_address: wrapper.vaultAddress,
      provider: wrapper.provider,
      name: wrapper.name,
      curator: wrapper.curator,
      asset: wrapper.asset.address,
      asset_decimals: wrapper.asset.decimals,
      client_fee_bps: wrapper.clientFeeBps,
      service_fee_bps: wrapper.serviceFeeBps,
      client_fee_wallet: wrapper.clientFeeWallet,
      deposits_disabled: wrapper.depositsDisabled ? 1 : 0,
      deploy_request_id: wrapper.deployRequestId,
      created_at: now,
      updated_at: now,
    })
    .execute();
}

type WrapperKey = Pick<Wrapper, "organizationId" | "wrapperAddress">;

/** The latest request to deploy it, and the asset that its vault named then. Everything else is determined by its address. */
export const setDeployRequest = preparedWrite<
  WrapperKey & { deployRequestId: string; asset: string; assetDecimals: number; now: number }
>()((db, row) =>
  db
    .updateTable("earn_wrappers")
    .set({
      deploy_request_id: row.deployRequestId,
      asset: row.asset,
      asset_decimals: row.assetDecimals,
      updated_at: row.now,
    })
    .where("organization_id", "=", row.organizationId)
    .where("wrapper_address", "=", row.wrapperAddress)
    .returning("wrapper_address"),
);

export const setDepositsDisabled = preparedWrite<WrapperKey & { depositsDisabled: number; now: number }>()((db, row) =>
  db
    .updateTable("earn_wrappers")
    .set({ deposits_disabled: row.depositsDisabled, updated_at: row.now })
    .where("organization_id", "=", row.organizationId)
    .where("wrapper_address", "=", row.wrapperAddress)
    .returning("wrapper_address"),
);

/** Stores a request for a wrapper on its chain. A job follows it unless it has ended already. */
export async function addRequest(
  tx: Transactor,
  chain: EvmChain,
  request: Omit<EarnRequest, "transactionHash" | "error" | "booked" | "createdAt" | "status"> &
    Partial<Pick<EarnRequest, "status">>,
  now: number,
): Promise<void> {
  const { organizationId, id, kind, wrapperAddress, walletAddress, amount, status = "PENDING" } = request;
  await tx
    .insertInto("earn_requests")
    .values({
      organization_id: organizationId,
      id,
      kind,
      wrapper_address: wrapperAddress,
      wallet_address: walletAddress,
      amount,
      status,
      transaction_hash: "",
      error: null,
      created_at: now,
      updated_at: now,
    })
    .execute();
  if (status === "PENDING") await enqueueFollowing(tx, chain, { organizationId, id }, now);
}

/** The job kind that follows a request; `follow-request.ts` declares it. */
export const FOLLOW_EARN_REQUEST = "follow_earn_request";

function enqueueFollowing(
  tx: Transactor,
  chain: EvmChain,
  payload: { organizationId: string; id: string },
  now: number,
): Promise<void> {
  const { organizationId, id } = payload;
  const lane = `earn:${organizationId}:${id}`;
  const kind = FOLLOW_EARN_REQUEST;
  return enqueue(tx, { kind, payload, lane, gate: `earn:${chain}`, organizationId, runAt: now, now, key: lane });
}

export async function findRequest(read: Reader, organizationId: string, id: string): Promise<EarnRequest | undefined> {
  const [row] = await selectRequest(read, { organizationId, id });
  return row && requestOf(row);
}

/** The latest deployment requests of an organization's wrappers, by id. */
export async function findDeployments(read: Reader, wrappers: readonly Wrapper[]): Promise<Map<string, EarnRequest>> {
  const [first] = wrappers;
  if (!first) return new Map();
  const rows = await read
    .selectFrom("earn_requests")
    .selectAll()
    .where("organization_id", "=", first.organizationId)
    .where(
      "id",
      "in",
      wrappers.map(({ deployRequestId }) => deployRequestId),
    )
    .execute();
  return new Map(rows.map((row) => [row.id, requestOf(row)]));
}

/** @throws KeysteadError RESOURCE_NOT_FOUND, also for a request of another kind */
export async function requireRequest(
  read: Reader,
  organizationId: string,
  id: string,
  kind: RequestKind,
): Promise<EarnRequest> {
  const found = await findRequest(read, organizationId, id);
  if (found?.kind === kind) return found;
  return fail("RESOURCE_NOT_FOUND", { kind: `${kind.toLowerCase()} request of earn`, id, organizationId });
}

/** The last claim from a wrapper that is pending or succeeded; undefined if there is none. */
export async function lastClaim(
  read: Reader,
  { organizationId, wrapperAddress }: WrapperKey,
): Promise<EarnRequest | undefined> {
  const [row] = await selectLastClaim(read, { organizationId, wrapperAddress });
  return row && requestOf(row);
}

/** How a request ended, which a reorganization may change. */
export type RequestEnd =
  | { status: "COMPLETED"; transactionHash: string }
  | { status: "FAILED"; transactionHash: string; error: string };

/**
 * Stores how a request ended. Resolves to false, and stores nothing, if the request has changed since it was read.
 *
 * @param booked its effect on totals
 */
export async function endRequest(
  tx: Transactor,
  { organizationId, id, ...read }: EarnRequest,
  end: RequestEnd,
  booked: Booking | undefined,
  now: number,
): Promise<boolean> {
  const error = end.status === "FAILED" ? end.error : null;
  const was = { readStatus: read.status, readHash: read.transactionHash };
  const row = { organizationId, id, ...was, ...end, error, booked: bookingToStore(booked), now };
  return (await updateRequest(tx, row)).length > 0;
}

/** A request that changed the totals of its position. */
export type BookedRequest = EarnRequest & { booked: Booking };

/**
 * Requests of the same position that may be in a block after a request's, and changed the totals; oldest first. The blocks may have another
 * order than the requests: one that was made earlier may be planned or signed later.
 */
export async function findBookedBeside(read: Reader, request: EarnRequest): Promise<BookedRequest[]> {
  const rows = await selectBooked(read, request)
    .where("id", "!=", request.id)
    .where("updated_at", ">", request.createdAt - MAX_CLOCKS_APART_MS)
    .orderBy("created_at")
    .limit(MAX_BOOKED_BESIDE)
    .execute();
  return rows.map(requestOf).filter(isBooked);
}

/**
 * The first full withdrawal from the same position that was requested after a request, changed the totals, and read what was left at the
 * request's block or later.
 *
 * @param block of the request, if it is known
 */
export async function findNextOfAll(
  read: Reader,
  request: EarnRequest,
  block: number | undefined,
): Promise<BookedRequest | undefined> {
  const rows = await selectBooked(read, request)
    .where("created_at", ">", request.createdAt)
    .where("amount", "=", "MAX")
    .orderBy("created_at")
    .limit(MAX_BOOKED_BESIDE)
    .execute();
  const next = rows.map(requestOf).filter(isBooked);
  return next.find(({ booked }) => block === undefined || (booked.readAt?.number ?? 0) >= block);
}

/** The block at which the remaining value was read for the last full withdrawal before a request; 0 if there is none. */
export async function lastReadBefore(read: Reader, request: EarnRequest): Promise<number> {
  const rows = await selectBooked(read, request)
    .where("created_at", "<", request.createdAt)
    .where("amount", "=", "MAX")
    .orderBy("created_at", "desc")
    .limit(1)
    .execute();
  return rows.map(requestOf)[0]?.booked?.readAt?.number ?? 0;
}

const isBooked = (request: EarnRequest): request is BookedRequest => request.booked !== undefined;

const selectBooked = (read: Reader, { organizationId, wrapperAddress, walletAddress }: EarnRequest) =>
  read
    .selectFrom("earn_requests")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("wrapper_address", "=", wrapperAddress)
    .where("wallet_address", "=", walletAddress)
    .where("kind", "in", ["DEPOSIT", "WITHDRAW"])
    .where("status", "=", "COMPLETED")
    .where("booked", "is not", null);

/** Sets a request's effect on totals; undefined if it has none. */
export async function noteBooking(
  tx: Transactor,
  { organizationId, id }: Pick<EarnRequest, "organizationId" | "id">,
  booked: Booking | undefined,
): Promise<void> {
  await tx
    .updateTable("earn_requests")
    .set({ booked: bookingToStore(booked) })
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .execute();
}

/** The block is last, where earlier versions look for nothing. */
export function bookingToStore(booked: Booking | undefined): string | null {
  if (!booked) return null;
  const { deposited, withdrawn, readAt, block } = booked;
  const read = readAt ? [readAt.number, readAt.hash] : [];
  return JSON.stringify([String(deposited), String(withdrawn), ...read, ...(block === undefined ? [] : [block])]);
}

export function bookingOf(stored: string | null): Booking | undefined {
  if (stored === null) return undefined;
  const [deposited, withdrawn, ...rest] = JSON.parse(stored) as [string, string, ...(number | string)[]];
  const [number, hash] = rest;
  const readAt = typeof number === "number" && typeof hash === "string" ? { readAt: { number, hash } } : {};
  const block = rest.length % 2 === 1 ? { block: rest.at(-1) as number } : {};
  return { deposited: BigInt(deposited), withdrawn: BigInt(withdrawn), ...block, ...readAt };
}

/** What a wallet has deposited into a wrapper and withdrawn from it. */
export interface Totals {
  totalDeposited: bigint;
  totalWithdrawn: bigint;
  /** The block at which they were last read from the chain: they include everything up to this block. */
  readAtBlock: number;
}
type PositionKey = Pick<EarnRequest, "organizationId" | "walletAddress" | "wrapperAddress">;

/** By wrapper. */
export async function findTotals(
  read: Reader,
  organizationId: string,
  walletAddress: string,
): Promise<Map<string, Totals>> {
  const rows = await selectPositions(read, { organizationId, walletAddress });
  return new Map(
    rows.map((row) => [
      row.wrapper_address,
      {
        totalDeposited: BigInt(row.total_deposited),
        totalWithdrawn: BigInt(row.total_withdrawn),
        readAtBlock: row.read_at_block,
      },
    ]),
  );
}

/** Totals for the API, never negative. Stored totals may be, while requests that a reorganization changed are corrected one by one. */
export function shownTotals(totals: Totals | undefined): Pick<Totals, "totalDeposited" | "totalWithdrawn"> {
  const { totalDeposited = 0n, totalWithdrawn = 0n } = totals ?? {};
  const atLeastNothing = (amount: bigint) => (amount < 0n ? 0n : amount);
  return { totalDeposited: atLeastNothing(totalDeposited), totalWithdrawn: atLeastNothing(totalWithdrawn) };
}

/** Sets a position's totals. */
export async function storeTotals(tx: Transactor, key: PositionKey, totals: Totals, now: number) {
  await deletePosition(tx, { ...key });
  await tx
    .insertInto("earn_positions")
    .values({
      organization_id: key.organizationId,
      wallet_address: key.walletAddress,
      wrapper_address: key.wrapperAddress,
      total_deposited: String(totals.totalDeposited),
      total_withdrawn: String(totals.totalWithdrawn),
      read_at_block: totals.readAtBlock,
      created_at: now,
      updated_at: now,
    })
    .execute();
}

function wrapperOf(row: Schema["earn_wrappers"]): Wrapper {
  const chain = row.caip2 as (typeof earnChains)[number];
  return {
    organizationId: row.organization_id,
    wrapperAddress: row.wrapper_address,
    splitterAddress: row.splitter_address,
    chain,
    vaultAddress: row.vault_address,
    provider: row.provider as EarnProvider,
    name: row.name,
    curator: row.curator,
    asset: { chain, address: row.asset, decimals: row.asset_decimals },
    clientFeeBps: row.client_fee_bps,
    serviceFeeBps: row.service_fee_bps,
    clientFeeWallet: row.client_fee_wallet,
    depositsDisabled: row.deposits_disabled === 1,
    deployRequestId: row.deploy_request_id,
  };
}

const requestOf = (row: Schema["earn_requests"]): EarnRequest => ({
  organizationId: row.organization_id,
  id: row.id,
  kind: row.kind,
  wrapperAddress: row.wrapper_address,
  walletAddress: row.wallet_address,
  amount: row.amount,
  status: row.status,
  transactionHash: row.transaction_hash,
  error: row.error ?? undefined,
  booked: bookingOf(row.booked),
  createdAt: row.created_at,
});

const selectWrappers = prepared<{ organizationId: string }>()((db, { organizationId }) =>
  db.selectFrom("earn_wrappers").selectAll().where("organization_id", "=", organizationId).limit(MAX_EARN_WRAPPERS),
);

const selectWrapper = prepared<WrapperKey>()((db, { organizationId, wrapperAddress }) =>
  db
    .selectFrom("earn_wrappers")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("wrapper_address", "=", wrapperAddress),
);

const selectRequest = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db.selectFrom("earn_requests").selectAll().where("organization_id", "=", organizationId).where("id", "=", id),
);

const selectLastClaim = prepared<WrapperKey>()((db, { organizationId, wrapperAddress }) =>
  db
    .selectFrom("earn_requests")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("status", "in", ["PENDING", "COMPLETED"])
    .where("wrapper_address", "=", wrapperAddress)
    .where("kind", "=", "CLAIM")
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(1),
);

const updateRequest = preparedWrite<{
  organizationId: string;
  id: string;
  readStatus: EarnRequest["status"];
  readHash: string;
  status: "COMPLETED" | "FAILED";
  transactionHash: string;
  error: string | null;
  booked: string | null;
  now: number;
}>()((db, row) =>
  db
    .updateTable("earn_requests")
    .set({
      status: row.status,
      transaction_hash: row.transactionHash,
      error: row.error,
      booked: row.booked,
      updated_at: row.now,
    })
    .where("organization_id", "=", row.organizationId)
    .where("id", "=", row.id)
    .where("status", "=", row.readStatus)
    .where("transaction_hash", "=", row.readHash)
    .returning("id"),
);

const selectPositions = prepared<{ organizationId: string; walletAddress: string }>()(
  (db, { organizationId, walletAddress }) =>
    db
      .selectFrom("earn_positions")
      .selectAll()
      .where("organization_id", "=", organizationId)
      .where("wallet_address", "=", walletAddress)
      .limit(MAX_EARN_WRAPPERS),
);

const deletePosition = preparedWrite<PositionKey>()((db, { organizationId, walletAddress, wrapperAddress }) =>
  db
    .deleteFrom("earn_positions")
    .where("organization_id", "=", organizationId)
    .where("wallet_address", "=", walletAddress)
    .where("wrapper_address", "=", wrapperAddress)
    .returning("wrapper_address"),
);
