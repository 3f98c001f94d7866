import { engineManifest } from "../engine/manifest.ts";
import type { Operation } from "../engine/operations.ts";
import { activities } from "./activities/index.ts";
import { authProxyCapability } from "./auth-proxy/index.ts";
import { credentials } from "./credentials/index.ts";
import { deployments } from "./deployments/index.ts";
import { earn } from "./earn/index.ts";
import { emailSignIn } from "./email-auth/index.ts";
import { history } from "./history/index.ts";
import { invitations } from "./invitations/index.ts";
import { ipAllowlists } from "./ip-allowlists/index.ts";
import { messages } from "./messages/index.ts";
import { mfa } from "./mfa/index.ts";
import { oauth } from "./oauth/index.ts";
import { onRamp } from "./on-ramp/index.ts";
import { organizations } from "./organizations/index.ts";
import { otp } from "./otp/index.ts";
import { policies } from "./policies/index.ts";
import { privateKeys } from "./private-keys/index.ts";
import { proofs } from "./proofs/index.ts";
import { secrets } from "./secrets/index.ts";
import { sending } from "./sending/index.ts";
import { sessions } from "./sessions/index.ts";
import { signing } from "./signing/index.ts";
import { smartContractInterfaces } from "./smart-contract-interfaces/index.ts";
import { spark } from "./spark/index.ts";
import { sponsoring } from "./sponsoring/index.ts";
import { subOrganizations } from "./sub-organizations/index.ts";
import { swaps } from "./swaps/index.ts";
import { tags } from "./tags/index.ts";
import { users } from "./users/index.ts";
import { wallets } from "./wallets/index.ts";
import { webhooks } from "./webhooks/index.ts";

/** Everything the service is made of, in the order in which the documentation tells it. */
export const capabilities = [
  organizations,
  subOrganizations,
  users,
  invitations,
  credentials,
  oauth,
  tags,
  privateKeys,
  wallets,
  secrets,
  signing,
  sending,
  sponsoring,
  earn,
  swaps,
  spark,
  onRamp,
  deployments,
  history,
  policies,
  mfa,
  sessions,
  emailSignIn,
  otp,
  authProxyCapability,
  ipAllowlists,
  smartContractInterfaces,
  messages,
  webhooks,
  proofs,
  activities,
  engineManifest,
] as const;

/** Everything the service can be asked. */
export const operations: readonly Operation[] = capabilities.flatMap((each): readonly Operation[] => each.operations);
