import { fail } from "../kernel/errors.ts";
import {
  HIGHEST_ACTIVITIES_PER_MONTH,
  HIGHEST_ACTIVITY_BYTES_PER_MONTH,
  HIGHEST_PRIVATE_KEYS,
  HIGHEST_SUB_ORGANIZATIONS,
  HIGHEST_USERS,
  HIGHEST_WALLETS,
  MAX_PRIVATE_KEYS,
  MAX_SMART_CONTRACT_INTERFACES_BYTES,
  MAX_USERS,
  MAX_WALLETS,
} from "../kernel/limits.ts";

/** The quotas of an organization that operators can set. */
export type QuotaName =
  | "users"
  | "privateKeys"
  | "wallets"
  | "interfaceBytes"
  | "subOrganizations"
  | "activitiesPerMonth"
  | "activityBytesPerMonth";
/** Null means unlimited. */
export type Quotas = Readonly<Record<QuotaName, number | null>>;

interface QuotaKind {
  /** What the quota limits, as named in the error. */
  what: string;
  /** The default if neither the installation nor the organization sets one; null means unlimited. */
  usual: number | null;
  highest: number;
  /** What a user can do who reaches the quota, besides asking for a higher one. */
  remedy: string;
}

export const quotaKinds: Readonly<Record<QuotaName, QuotaKind>> = {
  users: { what: "users", usual: MAX_USERS, highest: HIGHEST_USERS, remedy: "delete some" },
  privateKeys: { what: "private keys", usual: MAX_PRIVATE_KEYS, highest: HIGHEST_PRIVATE_KEYS, remedy: "delete some" },
  wallets: { what: "wallets", usual: MAX_WALLETS, highest: HIGHEST_WALLETS, remedy: "delete some" },
  interfaceBytes: {
    what: "bytes of smart contract interfaces together",
    usual: MAX_SMART_CONTRACT_INTERFACES_BYTES,
    highest: MAX_SMART_CONTRACT_INTERFACES_BYTES,
    remedy: "delete some",
  },
  subOrganizations: {
    what: "sub-organizations",
    usual: null,
    highest: HIGHEST_SUB_ORGANIZATIONS,
    remedy: "delete some",
  },
  activitiesPerMonth: {
    what: "activities in a calendar month (UTC)",
    usual: null,
    highest: HIGHEST_ACTIVITIES_PER_MONTH,
    remedy: "wait for the next month",
  },
  activityBytesPerMonth: {
    what: "bytes of activities in a calendar month (UTC)",
    usual: null,
    highest: HIGHEST_ACTIVITY_BYTES_PER_MONTH,
    remedy: "wait for the next month",
  },
};

export const quotaNames = Object.keys(quotaKinds) as QuotaName[];

export const USUAL_QUOTAS = Object.fromEntries(quotaNames.map((name) => [name, quotaKinds[name].usual])) as Quotas;

/** A quota that operators cannot change. */
export interface FixedQuota {
  /** What the quota limits, as named in the error. */
  kind: string;
  limit: number;
  /** What a user can do who reaches it; by default, delete some. */
  remedy?: string;
  /** True if it applies to each user rather than to the organization. */
  perUser?: true;
}

/** For what is never deleted. */
export const ONLY_ELSEWHERE = "they cannot be deleted, nor the quota raised; further ones need another organization";

/** @throws KeysteadError QUOTA_EXCEEDED or USER_QUOTA_EXCEEDED */
export function refuseExcess(count: number, { kind, limit, remedy = "delete some", perUser }: FixedQuota): void {
  if (count > limit) fail(perUser ? "USER_QUOTA_EXCEEDED" : "QUOTA_EXCEEDED", { kind, limit, remedy });
}

/** @throws KeysteadError QUOTA_EXCEEDED, naming the quota, its figure and the remedy */
export function refuseOver(quotas: Quotas, name: QuotaName, count: number): void {
  const limit = quotas[name];
  if (limit === null) return;
  const { what, remedy } = quotaKinds[name];
  const raised = `${remedy}, or ask the operator of this server to raise the quota \`${name}\``;
  refuseExcess(count, { kind: what, limit, remedy: raised });
}
