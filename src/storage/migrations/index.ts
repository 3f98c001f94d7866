import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { up as foundation } from "./0001-foundation.ts";
import { up as jobsAndWebhooks } from "./0002-jobs-and-webhooks.ts";
import { up as policies } from "./0003-policies.ts";
import { up as subOrganizations } from "./0004-sub-organizations.ts";
import { up as mfaAndSessionProfiles } from "./0005-mfa-and-session-profiles.ts";
import { up as ipAllowlists } from "./0006-ip-allowlists.ts";
import { up as interfacesAndInvitations } from "./0007-interfaces-and-invitations.ts";
import { up as wallets } from "./0008-wallets.ts";
import { up as importsAndSecrets } from "./0009-imports-and-secrets.ts";
import { up as appProofs } from "./0010-app-proofs.ts";
import { up as policyLists } from "./0011-policy-lists.ts";
import { up as tagsOfMembers } from "./0012-tags-of-members.ts";
import { up as plans } from "./0013-plans.ts";
import { up as usesAndRevocations } from "./0014-uses-and-revocations.ts";
import { up as jobSecrets } from "./0015-job-secrets.ts";
import { up as assertions } from "./0016-assertions.ts";
import { up as bodiesOnce } from "./0017-bodies-once.ts";
import { up as grades } from "./0018-grades.ts";
import { up as mail } from "./0019-mail.ts";
import { up as oauth2Credentials } from "./0020-oauth2-credentials.ts";
import { up as otps } from "./0021-otps.ts";

/** Append-only: a released migration is never edited. The name is what the database remembers. */
export const migrations: Record<string, { up: (db: Kysely<unknown>, kind: DatabaseKind) => Promise<void> }> = {
  "0001-foundation": { up: foundation },
  "0002-jobs-and-webhooks": { up: jobsAndWebhooks },
  "0003-policies": { up: policies },
  "0004-sub-organizations": { up: subOrganizations },
  "0005-mfa-and-session-profiles": { up: mfaAndSessionProfiles },
  "0006-ip-allowlists": { up: ipAllowlists },
  "0007-interfaces-and-invitations": { up: interfacesAndInvitations },
  "0008-wallets": { up: wallets },
  "0009-imports-and-secrets": { up: importsAndSecrets },
  "0010-app-proofs": { up: appProofs },
  "0011-policy-lists": { up: policyLists },
  "0012-tags-of-members": { up: tagsOfMembers },
  "0013-plans": { up: plans },
  "0014-uses-and-revocations": { up: usesAndRevocations },
  "0015-job-secrets": { up: jobSecrets },
  "0016-assertions": { up: assertions },
  "0017-bodies-once": { up: bodiesOnce },
  "0018-grades": { up: grades },
  "0019-mail": { up: mail },
  "0020-oauth2-credentials": { up: oauth2Credentials },
  "0021-otps": { up: otps },
};
