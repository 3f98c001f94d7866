import {
  apiKeys,
  authenticators,
  invitations,
  oauthProviders,
  organizations,
  privateKeyTags,
  users,
  userTags,
  verifiedContacts,
} from "./people.ts";
import { allowlists, features, interfaces, mfaPolicies, policies, sessionProfiles } from "./rules.ts";
import type { Source } from "./source.ts";

/** All rows of authority. */

/** Tables in which a missing row gives somebody power. */
export const keptSources: readonly Source[] = [policies, mfaPolicies, allowlists, features];

export const sources: readonly Source[] = [
  organizations,
  users,
  apiKeys,
  authenticators,
  oauthProviders,
  verifiedContacts,
  userTags,
  privateKeyTags,
  sessionProfiles,
  invitations,
  interfaces,
  ...keptSources,
];
