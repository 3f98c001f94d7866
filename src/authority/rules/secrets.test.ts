import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KeysteadError } from "../../kernel/errors.ts";
import { MAX_SECRETS } from "../../kernel/limits.ts";
import type { PartKind, Parts } from "../state.ts";
import { draftOn, viewThrough } from "../view.ts";
import { addSecrets, markSecretsExported, type NewSecret, removeSecrets } from "./secrets.ts";

/** An organization with so many secrets, of which one is looked at: `held`, under the name "taken". */
function draftOf(count = 1) {
  const known: { [Kind in PartKind]?: Record<string, unknown> } = {
    secret: { held: { id: "held", name: "taken" } },
    secretId: { taken: "held" },
  };
  return draftOn(
    viewThrough("organization", (kind, ids) =>
      ids.map((id) => (kind === "secretCount" ? count : known[kind]?.[id]) as Parts[PartKind]),
    ),
  );
}
const secretOf = (id: string, name: string | null): NewSecret => ({
  id,
  name,
  staticProperties: [],
  sealedSecret: Buffer.from(id),
});
const refused = (code: string, text: RegExp) => (error: unknown) =>
  error instanceof KeysteadError && error.code === code && text.test(error.message);

describe("secrets", () => {
  const add = (count: number, ...secrets: NewSecret[]) =>
    addSecrets(draftOf(count), secrets, 1, (index) => `secrets.${index}.name`);

  it("have names of their own, where they have any", () => {
    add(1, secretOf("one", "free"), secretOf("two", null), secretOf("three", null));
    const taken = refused("RESOURCE_EXISTS", /secrets\.2\.name/);
    assert.throws(() => add(1, secretOf("one", "free"), secretOf("two", null), secretOf("three", "taken")), taken);
  });

  it("are so many and no more", () => {
    add(MAX_SECRETS - 2, secretOf("one", null), secretOf("two", null));
    assert.throws(
      () => add(MAX_SECRETS - 1, secretOf("one", null), secretOf("two", null)),
      refused("QUOTA_EXCEEDED", /secrets/),
    );
  });

  it("are exported and removed all that are named or none, each once", () => {
    const unknown = refused("RESOURCE_NOT_FOUND", /secret gone/);
    const untouched = draftOf();
    assert.throws(() => markSecretsExported(untouched, ["held", "gone"]), unknown);
    assert.throws(() => removeSecrets(untouched, ["held", "gone"]), unknown);
    assert.equal(untouched.changes.length, 0);
    const draft = draftOf();
    markSecretsExported(draft, ["held"]);
    removeSecrets(draft, ["held", "held"]);
    assert.deepEqual(draft.changes, [
      { do: "markSecretsExported", ids: ["held"] },
      { do: "removeSecrets", secrets: [{ id: "held", name: "taken", exported: true }] },
    ]);
  });

  it("are not exported when they are new", () => {
    const draft = draftOf();
    addSecrets(draft, [secretOf("one", null)], 1, () => "secrets");
    assert.equal(draft.part("secret", "one")?.exported, false);
  });
});
