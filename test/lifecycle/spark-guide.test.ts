import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { addUser, type Json } from "../support/client.ts";
import { examplesIn, runExample } from "../support/guide.ts";
import { apiClientOf } from "../support/sdk.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import {
  claimOf,
  type HeldLeaf,
  leafPublicKey,
  newSparkWallet,
  Operators,
  type Signing,
  transferOf,
} from "../support/spark.ts";
import { addSubOrganization } from "../support/world.ts";

/** The examples of the guide, run as they stand there with the published client and a set of operators. */

const [example = ""] = examplesIn("spark")("A wallet, and a payment");
const policies = examplesIn("spark")("Policies", "text").map((text) => text.trimEnd());

let server: TestServer;
before(async () => {
  server = await startTestServer("sqlite");
});
after(() => server.close());

it("pays from one wallet to another", async () => {
  const members = await Promise.all([1, 2].map(() => addSubOrganization(server.root)));
  const [user, payee] = members.map(({ client }) => apiClientOf(client));
  const operators = new Operators(2, 3);
  const leafId = newId();
  let leaf: HeldLeaf | undefined;
  let signing: Signing | undefined;
  let isComplete = false;
  const given = {
    user,
    payee,
    newId,
    leafId,
    operators: operators.recipients,
    deliver: async (packages: Json) => {
      const [payer] = members;
      assert.ok(payer);
      if (!leaf) {
        const { wallets } = await payer.client.read("list_wallets");
        leaf = operators.newLeaf(await leafPublicKey(payer.client, wallets[0], leafId));
      }
      const tweaks = operators.openTweaks(packages);
      const [tweak] = tweaks;
      assert.ok(tweak && tweak.leafId === leafId);
      leaf = operators.tweak(leaf, tweak);
      const isClaim = tweak.fields[4] === undefined;
      return isClaim ? undefined : claimOf({ transferId: "" }, tweaks, operators.recipients, "").leaves;
    },
    refundToSign: async (derivation: object) => {
      signing = operators.signing(leaf as HeldLeaf, randomBytes(32));
      return signing.request(derivation);
    },
    complete: async (share: { signatureShare: string; hiding: string; binding: string }) => {
      isComplete = signing?.isSigned(share) === true;
    },
  };
  await runExample(example, given);
  assert.ok(isComplete);
});

it("shows policies that are taken as they stand", async () => {
  assert.equal(policies.length, 4);
  for (const [at, condition] of policies.entries()) {
    const policy = { policyName: `Spark ${at}`, effect: "EFFECT_ALLOW", condition, consensus: "true", notes: "" };
    assert.ok((await server.root.result("create_policy", policy)).policyId);
  }
});

it("shows policies that let no others be operators", async () => {
  const { client } = await addSubOrganization(server.root);
  const { client: user } = await addUser(client);
  const [own, sender] = [await newSparkWallet(client), await newSparkWallet(client)];
  const { signWith, identityPublicKey } = own;
  const operators = new Operators(2, 3);
  const keys = operators.recipients.operatorRecipients.map(({ encryptionPublicKey }) => encryptionPublicKey);
  for (const [at, text] of policies.entries()) {
    const named = text.replace("<identity key of the payee>", identityPublicKey);
    const condition = named.replace(/<key of operator (\d)>/g, (_, number) => keys[Number(number) - 1] as string);
    const policy = { policyName: `Pinned ${at}`, effect: "EFFECT_ALLOW", condition, consensus: "true", notes: "" };
    await client.result("create_policy", policy);
  }
  const transfer = transferOf(operators.recipients, identityPublicKey, [newId()]);
  const asked = { signWith: sender.signWith, transfer };
  const { operatorPackages } = await user.result("spark_prepare_transfer", asked);
  const claim = claimOf(
    transfer,
    operators.openTweaks(operatorPackages),
    operators.recipients,
    sender.identityPublicKey,
  );
  const lightningReceive = operators.recipients;
  await user.result("spark_claim_transfer", { signWith, claim });
  await user.result("spark_prepare_lightning_receive", { signWith, lightningReceive });

  const { threshold, operatorRecipients } = new Operators(2, 3).recipients;
  const [first, second, third] = operators.recipients.operatorRecipients;
  for (const changed of [
    { threshold, operatorRecipients },
    { threshold, operatorRecipients: [first, second, operatorRecipients[2]] },
    { threshold, operatorRecipients: [first, second, third, operatorRecipients[0]] },
    { threshold, operatorRecipients: [first, second] },
    { threshold: 3, operatorRecipients: [first, second, third] },
  ].map((recipients) => structuredClone(recipients) as Json)) {
    changed.operatorRecipients.forEach((recipient: Json, at: number) => {
      recipient.operatorId = `operator ${at}`;
    });
    for (const [path, parameters] of [
      ["spark_prepare_transfer", { ...asked, transfer: { ...transfer, ...changed } }],
      ["spark_claim_transfer", { signWith, claim: { ...claim, ...changed } }],
      ["spark_prepare_lightning_receive", { signWith, lightningReceive: changed }],
    ] as const) {
      assert.equal((await user.submit(path, parameters)).status, 403, path);
    }
  }
});
