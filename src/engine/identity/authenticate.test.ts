import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fail } from "../../kernel/errors.ts";
import { ERASURE_RETRY_SECONDS } from "../../kernel/limits.ts";
import type { OidcVerifier } from "../../providers/oidc/verifier.ts";
import type { Reader } from "../../storage/engine.ts";
import { apiKeyKind } from "./api-key-kind.ts";
import { authenticate, refuseUnfitKind, reload, type StampedBody } from "./authenticate.ts";
import type { AnyCredentialKind, CredentialLookup, Holder } from "./credential-kind.ts";
import { credentialKinds, decodeStamp } from "./credential-kinds.ts";

describe("kinds of credentials", () => {
  it("have a header each, in lowercase as requests carry them", () => {
    const headers = credentialKinds.map(({ header }) => header);
    assert.equal(new Set(headers).size, headers.length);
    for (const header of headers) assert.equal(header, header.toLowerCase());
  });

  it("are told apart by their headers; none and several are refused", () => {
    assert.throws(() => decodeStamp({}), { code: "STAMP_MISSING" });
    assert.throws(() => decodeStamp({ "x-other": "{}" }), { code: "STAMP_MISSING" });
    const all = Object.fromEntries(credentialKinds.map(({ header }) => [header, "{}"]));
    assert.throws(() => decodeStamp(all), { code: "STAMP_AMBIGUOUS" });
  });

  it("serve the operations that they are meant for", () => {
    const reading = { header: "x-reading", kindsOfOperations: ["query"] } as const;
    const path = "some_operation";
    refuseUnfitKind(reading, { kind: "query", path });
    for (const kind of ["activity", "vote"] as const) {
      assert.throws(() => refuseUnfitKind(reading, { kind, path }), {
        code: "CREDENTIAL_NOT_FOR_THIS",
        httpStatus: 401,
        message: /activities/,
      });
    }
    const deciding = { ...reading, kindsOfOperations: ["activity"] } as const;
    assert.throws(() => refuseUnfitKind(deciding, { kind: "query", path }), { message: /queries/ });
    const narrow = { ...reading, paths: ["another"] };
    assert.throws(() => refuseUnfitKind(narrow, { kind: "query", path }), { code: "CREDENTIAL_NOT_FOR_THIS" });
    refuseUnfitKind(narrow, { kind: "query", path: "another" });
  });
});

it("a sub-organization's stamps are verified at the expense of its parent, which may have any number of them", async () => {
  const [parentId, organizationId] = ["of the parent", "of the request"];
  const organization = { id: organizationId, parentId };
  const holder = { rank: 0, organization, actor: { organizationId, userId: "user" } } as unknown as Holder;
  const asked: string[] = [];
  const kind = {
    ...apiKeyKind,
    keyOf: () => "key",
    find: async () => [holder],
    verify: async (...[, , , { rootId }]: Parameters<typeof apiKeyKind.verify>) => void asked.push(rootId),
    refuseLapsed: () => {},
    recordOf: () => ({ publicKey: "key", scheme: "", signature: "", assertion: null }),
  };
  const request = { body: Buffer.from("{}"), organizationId, reach: "organization", remoteAddress: undefined } as const;
  const oidc = {} as OidcVerifier;
  const known = await authenticate({} as Reader, {
    ...request,
    stamp: { kind, decoded: {} },
    isExempt: true,
    oidc,
    now: 0,
  });
  assert.deepEqual([known.actor.userId, asked], ["user", [parentId]]);
});

/** Holders as a look-up finds them. What is not said of one is the same for all. */
function holder({
  id = "credential",
  of = "organization",
  ...more
}: Partial<Holder> & { id?: string; of?: string }): Holder {
  return {
    organization: {
      id: "organization",
      parentId: null,
      name: "Name",
      sealedKey: Buffer.alloc(0),
      quorumThreshold: 1,
      policiesVersion: 0,
      isErasing: false,
    },
    actor: {
      userId: `user of ${id}`,
      userName: "User",
      organizationId: of,
      isRootQuorumMember: false,
      hasMfaPolicies: false,
      credential: { id, type: "CREDENTIAL_TYPE_API_KEY_P256" },
    },
    allowlists: { ofOrganization: undefined, ofKey: undefined },
    rank: 0,
    hasActed: true,
    ...more,
  };
}

const here = { rules: '[{"cidr":"192.0.2.0/24"}]', onEvaluationError: "DENY" } as const;
const bound = { ofOrganization: here, ofKey: undefined };

/** A kind of which `holders` hold the credential, and the stamp of one of them. */
function stampOf(
  holders: Holder[],
  refuse: { verify?: (found: Holder) => void; lapsed?: (found: Holder) => void } = {},
) {
  const verified: string[] = [];
  const lookups: CredentialLookup[] = [];
  const kind: Partial<AnyCredentialKind> = {
    keyName: "public key",
    keyOf: (decoded) => `key of ${decoded}`,
    find: async (_, lookup) => {
      lookups.push(lookup);
      return holders;
    },
    refuseUnknown: ({ organizationId }) => fail("ORGANIZATION_NOT_FOUND", { organizationId }),
    verify: async (_stamp, _body, found) => {
      verified.push(found.actor.credential.id);
      refuse.verify?.(found);
    },
    refuseLapsed: (found) => refuse.lapsed?.(found),
    recordOf: (decoded, found) => ({
      publicKey: found.actor.credential.id,
      signature: String(decoded),
      scheme: "SCHEME",
      assertion: null,
    }),
  };
  const stamped: StampedBody = {
    stamp: { kind: kind as AnyCredentialKind, decoded: "stamp" },
    body: Buffer.from("{}"),
    organizationId: "organization",
    reach: "organization",
    remoteAddress: "192.0.2.1",
    oidc: {} as never,
    isExempt: false,
    now: 1,
  };
  return { stamped, verified, lookups };
}

const read = {} as never;
const notTheirs = () => fail("CREDENTIAL_NOT_FOR_THIS", { header: "x-stamp", what: "this" });

describe("authentication", () => {
  it("finds whoever made the stamp, whoever else holds the credential", async () => {
    const holders = [holder({ id: "first" }), holder({ id: "second" }), holder({ id: "third" })];
    const only = (id: string) => (found: Holder) => found.actor.credential.id === id || notTheirs();
    for (const refuse of [{ verify: only("second") }, { lapsed: only("second") }]) {
      const { stamped, verified } = stampOf(holders, refuse);
      const { actor, stampRecord, credentialKey } = await authenticate(read, stamped);
      assert.equal(actor.credential.id, "second");
      assert.deepEqual([stampRecord.publicKey, stampRecord.signature], ["second", "stamp"]);
      assert.equal(credentialKey.key, "key of stamp");
      assert.deepEqual(verified, ["first", "second", "third"]);
    }
  });

  it("takes the first in rank, and nobody where two of one rank made the stamp", async () => {
    const own = holder({ id: "own" });
    const { stamped, verified } = stampOf([own, holder({ id: "parent", of: "parent", rank: 1 })]);
    assert.equal((await authenticate(read, stamped)).actor.credential.id, "own");
    assert.deepEqual(verified, ["own"]);
    const two = stampOf([own, holder({ id: "other" })]);
    await assert.rejects(authenticate(read, two.stamped), { code: "CREDENTIAL_AMBIGUOUS" });
    const behind = stampOf([own, holder({ id: "parent", rank: 1 })], {
      verify: ({ rank }) => rank === 1 || notTheirs(),
    });
    assert.equal((await authenticate(read, behind.stamped)).actor.credential.id, "parent");
  });

  it("refuses with what the first holder is refused for, as unknown where there is none, and passes on other errors", async () => {
    const holders = [holder({ id: "first" }), holder({ id: "second" })];
    const differing = stampOf(holders, {
      verify: ({ actor }) => (actor.credential.id === "first" ? notTheirs() : fail("STAMP_MISSING", {})),
    });
    await assert.rejects(authenticate(read, differing.stamped), { code: "CREDENTIAL_NOT_FOR_THIS" });
    await assert.rejects(authenticate(read, stampOf([]).stamped), { code: "ORGANIZATION_NOT_FOUND" });
    const broken = stampOf(holders, {
      verify: ({ actor }) => {
        if (actor.credential.id === "first") throw new TypeError("a fault of ours");
      },
    });
    await assert.rejects(authenticate(read, broken.stamped), TypeError);
  });

  it("knows a credential's first use in its own organization, and a newcomer", async () => {
    const principalOf = (found: Holder) => authenticate(read, stampOf([found]).stamped);
    assert.equal((await principalOf(holder({ hasActed: false }))).isFirstUse, true);
    assert.equal((await principalOf(holder({ hasActed: true }))).isFirstUse, false);
    assert.equal((await principalOf(holder({ hasActed: false, of: "parent" }))).isFirstUse, false);
    assert.equal((await principalOf(holder({ hasActed: true, of: "parent" }))).isFirstUse, false);
    assert.equal((await principalOf(holder({ isNewcomer: true }))).isNewcomer, true);
    assert.ok(!("isNewcomer" in (await principalOf(holder({})))));
  });

  it("asks the allowlist, unless the request is exempt, before it says that the organization is being erased", async () => {
    const erased = { ...holder({}).organization, isErasing: true };
    const { stamped } = stampOf([holder({ allowlists: bound, organization: erased })]);
    const from = (remoteAddress: string, isExempt = false) =>
      authenticate(read, { ...stamped, remoteAddress, isExempt });
    await assert.rejects(from("198.51.100.1"), { code: "IP_NOT_ALLOWED" });
    await assert.rejects(from("192.0.2.1"), {
      code: "ORGANIZATION_BEING_ERASED",
      retryAfterSeconds: ERASURE_RETRY_SECONDS,
    });
    await assert.rejects(from("198.51.100.1", true), { code: "ORGANIZATION_BEING_ERASED" });
    const free = stampOf([holder({ allowlists: bound })]).stamped;
    const principal = await authenticate(read, { ...free, remoteAddress: "198.51.100.1", isExempt: true });
    assert.deepEqual([principal.remoteAddress, principal.isExempt], ["198.51.100.1", true]);
  });
});

describe("authentication once more, in the transaction that decides", () => {
  const principalOf = (found: Holder, more: Partial<StampedBody> = {}) =>
    authenticate(read, { ...stampOf([found]).stamped, ...more });
  /** The principal's credential, as it is found now. */
  const now = async (found: Holder, holders: Holder[], more: Partial<StampedBody> = {}, lapsed?: () => void) => {
    const { stamped, lookups } = stampOf(holders, lapsed ? { lapsed } : {});
    const principal = { ...(await principalOf(found, more)), credentialKey: { kind: stamped.stamp.kind, key: "key" } };
    const again = await reload(read, principal, 2);
    assert.deepEqual(lookups, [{ organizationId: "organization", key: "key", reach: "organization", now: 2 }]);
    return again;
  };

  it("finds the same user by the same credential, as they are now", async () => {
    const found = holder({ id: "same" });
    const changed = { ...found.organization, policiesVersion: 7 };
    const actor = { ...found.actor, isRootQuorumMember: true };
    const again = await now(found, [holder({ id: "other" }), { ...found, actor, organization: changed }]);
    assert.equal(again.actor.credential.id, "same");
    assert.deepEqual([again.actor.isRootQuorumMember, again.organization.policiesVersion], [true, 7]);
  });

  it("refuses who does not have it any more, whose credential has lapsed, and from where they may not", async () => {
    const found = holder({ id: "same" });
    const another = { ...found, actor: { ...found.actor, userId: "another" } };
    const replaced = { ...found, actor: { ...found.actor, credential: { ...found.actor.credential, id: "new" } } };
    for (const holders of [[], [another], [replaced]]) {
      await assert.rejects(now(found, holders), { code: "ORGANIZATION_NOT_FOUND" });
    }
    await assert.rejects(now(found, [found], {}, notTheirs), { code: "CREDENTIAL_NOT_FOR_THIS" });
    const elsewhere = { remoteAddress: "198.51.100.1" };
    await assert.rejects(now(found, [{ ...found, allowlists: bound }], elsewhere), { code: "IP_NOT_ALLOWED" });
    await now(found, [{ ...found, allowlists: bound }]);
    await now(found, [{ ...found, allowlists: bound }], { ...elsewhere, isExempt: true });
  });

  it("takes a newcomer whom an equal request has made a user meanwhile for that user", async () => {
    const newcomer = holder({ id: "on the way", isNewcomer: true });
    const again = await now(newcomer, [holder({ id: "stored" }), holder({ id: "next" })]);
    assert.equal(again.actor.credential.id, "stored");
    await assert.rejects(now(newcomer, []), { code: "ORGANIZATION_NOT_FOUND" });
  });
});
