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

/** How much an organization may have of what operators set a bound to. */
export type QuotaName =
  | "users"
  | "privateKeys"
  | "wallets"
  | "interfaceBytes"
  | "subOrganizations"
  | "activitiesPerMonth"
  | "activityBytesPerMonth";
/** Null is any number. */
export type Quotas = Readonly<Record<QuotaName, number | null>>;

interface QuotaKind {
  /** What it is of, as the error names it. */
  what: string;
  /** Where neither the installation nor the organization has another; null where there need be none. */
  usual: number | null;
  highest: number;
  /** What can be done by whoever has run into it, beside asking for more. */
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

/** How many of a thing there may be, whoever operates the server. */
export interface FixedQuota {
  /** The things, as the error names them. */
  kind: string;
  limit: number;
  /** Whether each user has this quota, and not the organization as a whole. */
  perUser?: true;
}

/** @throws KeysteadError QUOTA_EXCEEDED, or USER_QUOTA_EXCEEDED */
export function refuseExcess(count: number, { kind, limit, perUser }: FixedQuota): void {
  if (count > limit) fail(perUser ? "USER_QUOTA_EXCEEDED" : "QUOTA_EXCEEDED", { kind, limit });
}

/** @throws KeysteadError QUOTA_EXCEEDED that names the quota, its figure, and what can be done */
export function refuseOver(quotas: Quotas, name: QuotaName, count: number): void {
  const limit = quotas[name];
  if (limit === null) return;
  const { what, remedy } = quotaKinds[name];
  const kind = `${what}; ${remedy}, or ask the operator of this server to raise the quota \`${name}\``;
  refuseExcess(count, { kind, limit });
}
