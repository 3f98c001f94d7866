import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fail } from "../../kernel/errors.ts";
import type { OidcVerifier } from "../../providers/oidc/verifier.ts";
import type { Reader } from "../../storage/engine.ts";
import type { Newcomer } from "../operations.ts";
import { apiKeyKind } from "./api-key-kind.ts";
import type { Holder } from "./credential-kind.ts";
import { stampOfNewcomer } from "./newcomers.ts";
import { passkeyKind } from "./passkey-kind.ts";

/** Requests that make their sender a user, and are sent more than once at the same time. */

const organizationId = "of the request";
const lookup = { organizationId, key: "02ab", reach: "organization", now: 0 } as const;
const user = {
  organization: { id: organizationId, parentId: null },
  actor: { organizationId, userId: "made by the other request" },
} as Holder;

/** What is found where each look-up for users answers in its turn, and the request itself lets nobody in. */
function find(...known: Holder[][]): Promise<readonly Holder[]> {
  const kind = { ...apiKeyKind, find: async () => known.shift() ?? [], verify: async () => {} };
  const meet = async (): Promise<Newcomer> => {
    return fail("INVITATION_INVALID", {});
  };
  const stamp = stampOfNewcomer({ kind, decoded: {} }, Buffer.from("{}"), { oidc: {} as OidcVerifier, meet });
  return stamp.kind.find({} as Reader, lookup);
}

describe("the stamp of a newcomer", () => {
  it("is that of the user whom an equal request made between the look-ups", async () => {
    assert.deepEqual(await find([], [user]), [user]);
  });

  it("is refused as the request is where nobody became a user by it", async () => {
    await assert.rejects(find([], []), { code: "INVITATION_INVALID" });
  });

  it("is a user's without a look at what let them in", async () => {
    assert.deepEqual(await find([user]), [user]);
  });
});

describe("whoever becomes a user with their own request", () => {
  const organization = {
    id: organizationId,
    parent_id: null,
    name: "Name",
    sealed_key: Buffer.alloc(0),
    quorum_threshold: 1,
    policies_version: 0,
    erasing: 0,
  };
  const allowlist = { rules: '[{"cidr":"192.0.2.0/24"}]', on_evaluation_error: "DENY" };
  /** A database with this organization and its allowlist. */
  const readerOf = (organizations: object[]) =>
    ({
      kind: "sqlite",
      all: async ({ sql }: { sql: string }) => (/ip_allowlists/.test(sql) ? [allowlist] : organizations),
    }) as unknown as Reader;
  const apiKey = { type: "CREDENTIAL_TYPE_API_KEY_P256", publicKey: lookup.key };
  const passkey = {
    type: "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR",
    credentialId: lookup.key,
    publicKey: Uint8Array.of(1),
    rpIdHash: Uint8Array.of(2),
    allowedOrigins: ["https://app.example"],
  } as const;

  interface Case {
    known?: Holder[];
    kind?: typeof apiKeyKind;
    organizations?: object[];
    verify?: () => Promise<void>;
  }
  function meeting(credential: Newcomer["credential"], given: Case = {}) {
    const { known = [], kind = apiKeyKind, organizations = [organization], verify = async () => {} } = given;
    let meetings = 0;
    const meet = async (): Promise<Newcomer> => {
      meetings++;
      return { userName: "Newcomer", credential };
    };
    const stamp = stampOfNewcomer(
      { kind: { ...kind, find: async () => known, verify }, decoded: {} },
      Buffer.from("{}"),
      { oidc: {} as OidcVerifier, meet },
    );
    return { find: () => stamp.kind.find(readerOf(organizations), lookup), meetings: () => meetings };
  }

  it("is a user of the organization and nothing more, from where its allowlist lets them in", async () => {
    const { find, meetings } = meeting(apiKey);
    const [one] = await find();
    assert.ok(one);
    const { userId, credential, ...actor } = one.actor;
    assert.deepEqual(actor, { userName: "Newcomer", organizationId, isRootQuorumMember: false, hasMfaPolicies: false });
    assert.equal(credential.type, apiKey.type);
    assert.notEqual(userId, credential.id);
    assert.deepEqual([one.isNewcomer, one.hasActed, one.organization.name], [true, false, "Name"]);
    assert.deepEqual(one.allowlists, {
      ofOrganization: { rules: allowlist.rules, onEvaluationError: "DENY" },
      ofKey: undefined,
    });
    // However often the request is looked at, they are met once and are the same user.
    assert.deepEqual(await find(), [one]);
    assert.equal(meetings(), 1);
  });

  it("stamps with the credential that the request registers, and no other", async () => {
    const [found] = await meeting(passkey, { kind: passkeyKind }).find();
    const { publicKey, rpIdHash, allowedOrigins } = found as Holder & typeof passkey;
    assert.deepEqual([publicKey, rpIdHash], [Buffer.of(1), Buffer.of(2)]);
    assert.deepEqual(allowedOrigins, passkey.allowedOrigins);
    assert.deepEqual([found?.isNewcomer, found?.actor.organizationId], [true, organizationId]);
    const refused = { code: "CREDENTIAL_NOT_REGISTERED" };
    await assert.rejects(meeting({ ...apiKey, publicKey: "02cd" }).find(), refused);
    await assert.rejects(meeting({ ...passkey, credentialId: "other" }, { kind: passkeyKind }).find(), refused);
    // The look-up key is that of the other kind of credential.
    await assert.rejects(meeting(passkey).find(), refused);
    await assert.rejects(meeting(apiKey, { kind: passkeyKind }).find(), refused);
    await assert.rejects(meeting(apiKey, { organizations: [] }).find(), { code: "PUBLIC_KEY_NOT_FOUND" });
  });

  it("is a newcomer although the parent knows the credential, or another user's stamp is not theirs", async () => {
    const ofParent = { ...user, actor: { ...user.actor, organizationId: "parent" } };
    const [one] = await meeting(apiKey, { known: [ofParent] }).find();
    assert.equal(one?.isNewcomer, true);
    const notTheirs = async () => fail("API_KEY_SIGNATURE_INVALID", { reason: "the signature does not match" });
    const [other] = await meeting(apiKey, { known: [user], verify: notTheirs }).find();
    assert.equal(other?.isNewcomer, true);
  });

  it("learns of a fault of this service, and does not become a user by it", async () => {
    const fault = async () => Promise.reject(new TypeError("a fault of ours"));
    await assert.rejects(meeting(apiKey, { known: [user], verify: fault }).find(), TypeError);
  });
});
