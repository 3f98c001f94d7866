import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { OidcVerifier } from "../../providers/oidc/verifier.ts";
import type { Reader } from "../../storage/engine.ts";
import { apiKeyKind } from "./api-key-kind.ts";
import { authenticate, refuseUnfitKind } from "./authenticate.ts";
import type { Holder } from "./credential-kind.ts";
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
      });
    }
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
