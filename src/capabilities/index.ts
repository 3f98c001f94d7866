import type { Operation } from "../engine/declare.ts";
import { activities } from "./activities/index.ts";
import { credentials } from "./credentials/index.ts";
import { invitations } from "./invitations/index.ts";
import { organizations } from "./organizations/index.ts";
import { policies } from "./policies/index.ts";
import { privateKeys } from "./private-keys/index.ts";
import { signing } from "./signing/index.ts";
import { smartContractInterfaces } from "./smart-contract-interfaces/index.ts";
import { tags } from "./tags/index.ts";
import { users } from "./users/index.ts";
import { webhooks } from "./webhooks/index.ts";

/** Everything the service can be asked. */
export const operations: readonly Operation[] = [
  ...organizations,
  ...users,
  ...invitations,
  ...credentials,
  ...tags,
  ...privateKeys,
  ...signing,
  ...policies,
  ...smartContractInterfaces,
  ...webhooks,
  ...activities,
];
