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
import { up as authProxies } from "./0022-auth-proxies.ts";
import { up as onRamp } from "./0023-on-ramp.ts";
import { up as invitationTokens } from "./0024-invitation-tokens.ts";
import { up as verifiedContacts } from "./0025-verified-contacts.ts";
import { up as sentTransactions } from "./0026-sent-transactions.ts";
import { up as chainHistory } from "./0027-chain-history.ts";
import { up as sendNonces } from "./0028-send-nonces.ts";
import { up as activityLists } from "./0029-activity-lists.ts";
import { up as importKeyTerms } from "./0030-import-key-terms.ts";
import { up as following } from "./0031-following.ts";
import { up as deployments } from "./0032-deployments.ts";
import { up as sponsoredSends } from "./0033-sponsored-sends.ts";
import { up as earn } from "./0034-earn.ts";
import { up as solanaHistory } from "./0035-solana-history.ts";
import { up as gasUsage } from "./0036-gas-usage.ts";
import { up as openDeployments } from "./0037-open-deployments.ts";
import { up as sponsoredTurns } from "./0038-sponsored-turns.ts";
import { up as usersBelowAParent } from "./0039-users-below-a-parent.ts";
import { up as sponsoredRent } from "./0040-sponsored-rent.ts";
import { up as swaps } from "./0041-swaps.ts";
import { up as operators } from "./0042-operators.ts";
import { up as expiredSwapQuotes } from "./0043-expired-swap-quotes.ts";
import { up as auditLines } from "./0044-audit-lines.ts";
import { up as quorumKeys } from "./0045-quorum-keys.ts";
import { up as archivedActivities } from "./0046-archived-activities.ts";
import { up as dailyCounts } from "./0047-daily-counts.ts";
import { up as eventsByActivity } from "./0048-events-by-activity.ts";
import { up as failingEndpoints } from "./0049-failing-endpoints.ts";
import { up as webhookTests } from "./0050-webhook-tests.ts";
import { up as activitiesByUser } from "./0051-activities-by-user.ts";
import { up as earnBookings } from "./0052-earn-bookings.ts";
import { up as earnSharePrices } from "./0053-earn-share-prices.ts";
import { up as beginningsOfAddresses } from "./0054-beginnings-of-addresses.ts";
import { up as beginningsOfNames } from "./0055-beginnings-of-names.ts";
import { up as revokedFurtherStamps } from "./0056-revoked-further-stamps.ts";
import { up as wantedDeployments } from "./0057-wanted-deployments.ts";
import { up as addressesInAnyCase } from "./0058-addresses-in-any-case.ts";
import { up as startsByUserIdentifier } from "./0059-starts-by-user-identifier.ts";
import { up as failedInABlock } from "./0060-failed-in-a-block.ts";
import { up as erasures } from "./0061-erasures.ts";
import { up as erasedEndpoints } from "./0062-erased-endpoints.ts";
import { up as walletsOfPurchases } from "./0063-wallets-of-purchases.ts";
import { up as rootKeysOfServers } from "./0064-root-keys-of-servers.ts";

/** Append-only: never change what a released migration does. The database stores the name. */
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
  "0022-auth-proxies": { up: authProxies },
  "0023-on-ramp": { up: onRamp },
  "0024-invitation-tokens": { up: invitationTokens },
  "0025-verified-contacts": { up: verifiedContacts },
  "0026-sent-transactions": { up: sentTransactions },
  "0027-chain-history": { up: chainHistory },
  "0028-send-nonces": { up: sendNonces },
  "0029-activity-lists": { up: activityLists },
  "0030-import-key-terms": { up: importKeyTerms },
  "0031-following": { up: following },
  "0032-deployments": { up: deployments },
  "0033-sponsored-sends": { up: sponsoredSends },
  "0034-earn": { up: earn },
  "0035-solana-history": { up: solanaHistory },
  "0036-gas-usage": { up: gasUsage },
  "0037-open-deployments": { up: openDeployments },
  "0038-sponsored-turns": { up: sponsoredTurns },
  "0039-users-below-a-parent": { up: usersBelowAParent },
  "0040-sponsored-rent": { up: sponsoredRent },
  "0041-swaps": { up: swaps },
  "0042-operators": { up: operators },
  "0043-expired-swap-quotes": { up: expiredSwapQuotes },
  "0044-audit-lines": { up: auditLines },
  "0045-quorum-keys": { up: quorumKeys },
  "0046-archived-activities": { up: archivedActivities },
  "0047-daily-counts": { up: dailyCounts },
  "0048-events-by-activity": { up: eventsByActivity },
  "0049-failing-endpoints": { up: failingEndpoints },
  "0050-webhook-tests": { up: webhookTests },
  "0051-activities-by-user": { up: activitiesByUser },
  "0052-earn-bookings": { up: earnBookings },
  "0053-earn-share-prices": { up: earnSharePrices },
  "0054-beginnings-of-addresses": { up: beginningsOfAddresses },
  "0055-beginnings-of-names": { up: beginningsOfNames },
  "0056-revoked-further-stamps": { up: revokedFurtherStamps },
  "0057-wanted-deployments": { up: wantedDeployments },
  "0058-addresses-in-any-case": { up: addressesInAnyCase },
  "0059-starts-by-user-identifier": { up: startsByUserIdentifier },
  "0060-failed-in-a-block": { up: failedInABlock },
  "0061-erasures": { up: erasures },
  "0062-erased-endpoints": { up: erasedEndpoints },
  "0063-wallets-of-purchases": { up: walletsOfPurchases },
  "0064-root-keys-of-servers": { up: rootKeysOfServers },
};
