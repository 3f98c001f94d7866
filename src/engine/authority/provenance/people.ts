import type { ContactType } from "../../../authority/state.ts";
import {
  apiKeyFact,
  contactFact,
  type Fact,
  firstTagFact,
  invitationFact,
  issuedKeyFact,
  loginFact,
  organizationFact,
  passkeyFact,
  providerFact,
  proxyKeyFact,
  recoveryKeyFact,
  rootQuorumFact,
  tagFact,
  userFact,
  verifiedFact,
} from "./facts.ts";
import {
  claiming,
  type InOrganization,
  isNotGone,
  joined,
  ORGANIZATION,
  type Source,
  source,
  textsIn,
} from "./source.ts";

/** The claims of rows of organizations, users and credentials. */

/**
 * A parent organization is not created by an activity but by a first start or `keystead init`, within one millisecond: with one user, who has
 * one key without expiry. Rows of that millisecond are counted.
 */
const startersAmong = (table: "users" | "api_keys", which = ""): string =>
  `case when o.parent_id is null and t.created_at = o.created_at then (select cast(count(*) as integer) from ${table} b
    where b.organization_id = t.organization_id and b.created_at = o.created_at ${which}) else 0 end as starters`;

export const organizations = source<{
  id: string;
  parent_id: string | null;
  quorum_threshold: number;
  created_at: number;
  members: string | null;
  starters: string | null;
}>({
  select: `select t.id, t.parent_id, t.quorum_threshold, t.created_at,
      (select string_agg(m.user_id, ' ') from root_quorum_members m where m.organization_id = t.id) as members,
      (select string_agg(u.id, ' ') from users u where t.parent_id is null and u.organization_id = t.id
        and u.created_at = t.created_at) as starters
    from (select *, id as organization_id from organizations where deleted_at is null) t`,
  key: ["id"],
  claimsOf({ id, parent_id: parentId, quorum_threshold: threshold, created_at: since, members, starters }) {
    const userIds = members?.split(" ") ?? [];
    const isAsMade = parentId === null && threshold === 1 && userIds.length === 1 && members === starters;
    return {
      organizationId: id,
      id,
      since,
      claims: [
        ...(parentId === null
          ? []
          : [
              {
                what: "sub-organizations that no activity made below their parent",
                facts: [organizationFact(id, parentId)],
              },
            ]),
        ...(isAsMade
          ? []
          : [
              {
                what: "organizations whose root quorum no activity set",
                facts: [rootQuorumFact(id, { threshold, userIds })],
              },
            ]),
      ],
    };
  },
});

export const users = source<
  InOrganization & {
    id: string;
    email: string | null;
    phone_number: string | null;
    created_at: number;
    starters: number;
  }
>({
  select: `select t.organization_id, t.id, t.email, t.phone_number, t.created_at, ${ORGANIZATION}, ${startersAmong("users")}
    ${joined("users")}`,
  key: ["organization_id", "id"],
  claimsOf({ organization_id: organizationId, id, email, phone_number: phone, created_at: since, starters }) {
    const contacts: [ContactType, string | null][] = [
      ["EMAIL", email],
      ["PHONE_NUMBER", phone],
    ];
    const given = contacts.flatMap(([type, text]) => (text === null ? [] : [contactFact(id, type, text)]));
    const what = "users whose e-mail address or phone number no activity gave them";
    // The first start may have set an address.
    const claims = [
      { what: "users that no activity made", facts: [userFact(organizationId, id)] },
      ...given.map((fact) => ({ what, facts: [fact] })),
    ];
    return { organizationId, id, since, claims: [isNotGone("users", id), ...(starters === 1 ? [] : claims)] };
  },
});

export const apiKeys = source<
  InOrganization & {
    id: string;
    user_id: string;
    credential_type: string;
    public_key: string;
    session_profile_id: string | null;
    expiration_seconds: number | null;
    grade: string | null;
    created_at: number;
    user_created_at: number;
    proxy_key: string | null;
    starters: number;
  }
>({
  select: `select t.organization_id, t.id, t.user_id, t.credential_type, t.public_key, t.session_profile_id, t.expiration_seconds,
      t.grade, t.created_at, u.created_at as user_created_at, ${ORGANIZATION}, p.public_key as proxy_key,
      ${startersAmong("api_keys", "and b.user_id = t.user_id and b.expiration_seconds is null")}
    ${joined("api_keys")} join users u on u.organization_id = t.organization_id and u.id = t.user_id
      left join auth_proxies p on p.organization_id = t.organization_id`,
  key: ["organization_id", "id"],
  claimsOf({ organization_id: organizationId, id, user_id: userId, created_at: since, ...row }) {
    const { credential_type: type, public_key: publicKey, expiration_seconds: seconds } = row;
    const { session_profile_id: profileId, grade, proxy_key: proxyKey, starters } = row;
    const isBrought = grade === null && profileId === null;
    const isOfTheStart = isBrought && seconds === null && starters === 1 && row.user_created_at === since;
    const facts: Fact[] = [
      ...(isBrought ? [id, null].map((known) => apiKeyFact(userId, known, { type, publicKey, seconds })) : []),
      ...(type === "CREDENTIAL_TYPE_LOGIN" && seconds !== null
        ? [loginFact(userId, publicKey, Math.floor(since / 1000) + seconds, profileId)]
        : []),
      ...(profileId === null ? [issuedKeyFact(userId, type, id, seconds)] : []),
      ...(type === "CREDENTIAL_TYPE_RECOVER_USER_KEY_P256" ? [recoveryKeyFact(userId, since, seconds)] : []),
      ...(grade === "server" && publicKey === proxyKey ? [proxyKeyFact(userId)] : []),
    ];
    const what = "API keys that no activity gave to their user, or not for as long";
    return {
      organizationId,
      id,
      since,
      claims: [isNotGone("API keys", id), ...(isOfTheStart ? [] : [{ what, facts }])],
    };
  },
});

interface Credential {
  organization_id: string;
  id: string;
  user_id: string;
  created_at: number;
}

export const authenticators = source<Credential & { credential_id: string; public_key: Uint8Array }>({
  select: `select t.organization_id, t.id, t.user_id, t.credential_id, t.public_key, t.created_at from authenticators t`,
  key: ["organization_id", "id"],
  claimsOf({ organization_id: organizationId, id, user_id: userId, created_at: since, ...row }) {
    const passkey = { credentialId: row.credential_id, publicKey: row.public_key };
    const facts = [id, null].map((known) => passkeyFact(userId, known, passkey));
    const what = "passkeys that no activity gave to their user";
    return { organizationId, id, since, claims: [isNotGone("passkeys", id), { what, facts }] };
  },
});

export const oauthProviders = source<Credential & { issuer: string; audience: string; subject: string }>({
  select: `select t.organization_id, t.id, t.user_id, t.issuer, t.audience, t.subject, t.created_at from oauth_providers t`,
  key: ["organization_id", "id"],
  claimsOf({ organization_id: organizationId, id, user_id: userId, created_at: since, ...row }) {
    const provider = { iss: row.issuer, aud: row.audience, sub: row.subject };
    const facts = [id, null].map((known) => providerFact(userId, known, provider));
    const what = "OAuth providers that no activity gave to their user";
    return { organizationId, id, since, claims: [isNotGone("OAuth providers", id), { what, facts }] };
  },
});

export const verifiedContacts = source<{
  organization_id: string;
  user_id: string;
  type: ContactType;
  contact: string;
  created_at: number;
}>({
  select: `select t.organization_id, t.root_id, t.type, t.contact, t.user_id, t.created_at from verified_contacts t`,
  key: ["root_id", "type", "contact"],
  claimsOf: ({ organization_id: organizationId, user_id: id, type, contact, created_at: since }) =>
    claiming({ organizationId, id, since }, "users with a verified contact that no activity verified", [
      verifiedFact(id, type, contact),
    ]),
});

interface Membership extends InOrganization {
  tag_id: string;
  member_id: string;
  tag_created_at: number;
  member_created_at: number;
}

const memberships = (table: string, members: string, what: string): Source =>
  source<Membership>({
    select: `select t.organization_id, t.tag_id, t.member_id, ${ORGANIZATION}, g.created_at as tag_created_at,
        m.created_at as member_created_at
      ${joined(table)} join tags g on g.organization_id = t.organization_id and g.id = t.tag_id
        join ${members} m on m.organization_id = t.organization_id and m.id = t.member_id`,
    key: ["organization_id", "tag_id", "member_id"],
    claimsOf({
      organization_id: organizationId,
      tag_id: tagId,
      member_id: memberId,
      member_created_at: since,
      ...row
    }) {
      const isOfTheStart =
        row.parent_id !== null && [since, row.tag_created_at].every((time) => time === row.organization_created_at);
      return claiming({ organizationId, id: memberId, since }, what, [
        tagFact(tagId, memberId),
        ...(isOfTheStart ? [firstTagFact(organizationId, memberId)] : []),
      ]);
    },
  });

export const userTags = memberships("user_tag_members", "users", "users with a tag that no activity attached to them");
export const privateKeyTags = memberships(
  "private_key_tag_members",
  "private_keys",
  "private keys with a tag that no activity attached to them",
);

export const invitations = source<{
  organization_id: string;
  id: string;
  receiver_email: string;
  receiver_tag_ids: string;
  created_at: number;
}>({
  select: `select t.organization_id, t.id, t.receiver_email, t.receiver_tag_ids, t.created_at from invitations t`,
  key: ["organization_id", "id"],
  claimsOf: ({ organization_id: organizationId, id, receiver_email: email, receiver_tag_ids, created_at: since }) =>
    claiming({ organizationId, id, since }, "invitations that no activity made as they are", [
      invitationFact(id, { email, tagIds: textsIn<string[]>(receiver_tag_ids, (ids) => ids) }),
    ]),
});
