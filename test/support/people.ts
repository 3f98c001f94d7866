import {
  ALL,
  type ApiKey,
  type MethodGroup,
  type MfaPolicy,
  type PartKind,
  type Parts,
} from "../../src/authority/state.ts";
import { type AuthorityView, viewThrough } from "../../src/authority/view.ts";

/** The state of an organization as rules see it, without a database. */

/** What is known of a user, by the kinds of parts; what is not said is empty. */
export type Person = Partial<
  Pick<Parts, "user" | "apiKeys" | "authenticators" | "oauthProviders" | "mfaPolicies" | "verifiedContacts">
>;

const times = { createdAt: 0, updatedAt: 0 };

/** An organization of these people; `whole` are the parts that there is one of, `others` those of whatever name. */
export function viewOfPeople(
  people: Record<string, Person>,
  whole: Partial<Parts> = {},
  others: Partial<Parts> = {},
): AuthorityView {
  const nameless = { email: null, phoneNumber: null, ...times };
  const none: Person = { apiKeys: [], authenticators: [], oauthProviders: [], mfaPolicies: [], verifiedContacts: [] };
  return viewThrough("organization", (kind, ids) =>
    ids.map((id): Parts[PartKind] => {
      if (id === ALL) return whole[kind];
      const person = people[id] && { user: { id, name: id, ...nameless }, ...people[id] };
      return ({ ...none, ...others, ...person } as Partial<Parts>)[kind];
    }),
  );
}

/** An API key that its user added, and that lasts unless more is said of it. */
export const apiKeyOf = (id: string, more: Partial<ApiKey> = {}): ApiKey => ({
  ...{ id, name: id, type: "CREDENTIAL_TYPE_API_KEY_P256", publicKey: `02${id}`, sessionProfileId: null },
  ...{ expirationSeconds: null, grade: null, createdAt: 0 },
  ...more,
});

export const passkeyOf = (id: string) => ({ id, credentialId: id }) as Parts["authenticators"][number];

export const providerOf = (id: string) => ({ id, subject: id }) as Parts["oauthProviders"][number];

export const mfaPolicyOf = (id: string, condition: string, requiredMethods: readonly MethodGroup[]): MfaPolicy => ({
  ...{ id, name: id, condition, requiredMethods, order: 1, notes: null },
  ...times,
});
