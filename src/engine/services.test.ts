import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Signer } from "../signer/client.ts";
import { type Services, servicesFor, signerFor } from "./services.ts";

/** What operations and jobs are given: what they name, and nothing else. */

describe("the services of an operation", () => {
  const services = { evm: "nodes", swaps: "providers" } as unknown as Services;

  it("are those that it names", () => {
    assert.deepEqual(servicesFor(services, ["evm"]), { evm: "nodes" });
    assert.deepEqual(servicesFor(services, []), {});
  });
});

describe("the signer of an operation", () => {
  const asked: string[] = [];
  const signer = {
    ask: async ({ verb }: { verb: string }) => {
      asked.push(verb);
      return {};
    },
  } as unknown as Pick<Signer, "ask">;

  it("takes the verbs that it names, and hears of no other", async () => {
    const given = signerFor(signer, ["generateKeys"], "create_private_keys");
    const question = { organizationId: "", organizationKey: "", keys: [] };
    await given.ask({ verb: "generateKeys", ...question });
    assert.throws(
      () => void given.ask({ verb: "sign", ...question } as never),
      /create_private_keys.*sign|sign.*create_private_keys/,
    );
    assert.deepEqual(asked, ["generateKeys"]);
  });
});
