import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { schnorr, secp256k1 } from "@noble/curves/secp256k1.js";
import { newId } from "../../src/kernel/ids.ts";
import { addUser, type Client, type Json } from "../support/client.ts";
import { onOneEngine, type TestServer } from "../support/server.ts";
import {
  bytes,
  claimOf,
  completed,
  interpolate,
  leafIdsOf,
  leafPublicKey,
  newAdaptor,
  newSparkWallet,
  type OpenedTweak,
  Operators,
  type TestSparkWallet,
  transferOf,
  transferPayload,
} from "../support/spark.ts";
import { addSubOrganization } from "../support/world.ts";

/** Users of two organizations and a set of operators: a leaf is made, signed for, handed over, taken over and signed for again. */

const sha256 = (...parts: (string | Uint8Array)[]) => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};
const { Fn } = secp256k1.Point;
const compressed = (point: OpenedTweak["change"]) => point.toHex(true);
const pointOf = (publicKey: string) => secp256k1.Point.fromHex(publicKey);
const flipped = (hex: string, at = hex.length - 1) =>
  hex.slice(0, at) + (Number.parseInt(hex[at] as string, 16) ^ 1).toString(16) + hex.slice(at + 1);

const signFrost = async (client: Client, { signWith }: TestSparkWallet, signatures: Json[]): Promise<Json[]> =>
  (await client.result("spark_sign_frost", { signWith, signatures })).signatures;

async function refused(client: Client, path: string, parameters: object, field: string): Promise<string> {
  const { status, body } = await client.submit(path, parameters);
  assert.equal(status, 400, JSON.stringify(body));
  assert.ok(body.message.includes(`\`${field}`), `${field}: ${body.message}`);
  return body.message;
}

onOneEngine("sqlite", "Spark", (server) => {
  const newOwner = async (): Promise<{ client: Client; wallet: TestSparkWallet }> => {
    const { client } = await addSubOrganization(server().root);
    return { client, wallet: await newSparkWallet(client) };
  };

  it("signs, hands a leaf over, and the receiver signs in its place", async () => {
    const [sender, receiver] = [await newOwner(), await newOwner()];
    const operators = new Operators(2, 3);
    const leafId = newId();
    const derivation = { signingLeaf: { leafId } };
    const oldKey = await leafPublicKey(sender.client, sender.wallet, leafId);
    const leaf = operators.newLeaf(oldKey);

    const deposit = operators.signing(leaf, sha256("deposit"));
    const [share] = await signFrost(sender.client, sender.wallet, [deposit.request(derivation)]);
    assert.ok(deposit.isSigned(share));

    const { client, wallet } = sender;
    const transfer = transferOf(operators.recipients, receiver.wallet.identityPublicKey, [leafId]);
    const sent = await client.result("spark_prepare_transfer", { signWith: wallet.signWith, transfer });
    const [tweak] = operators.openTweaks(sent.operatorPackages);
    assert.ok(tweak);
    assertSent(tweak, transfer.leaves[0], transfer.transferId, wallet);
    const [{ leafId: newLeafId, publicKey: newKey }] = sent.newLeafPublicKeys;
    assert.equal(newLeafId, transfer.leaves[0].newLeafDerivation.signingLeaf.leafId);
    assert.equal(newKey, await leafPublicKey(client, wallet, newLeafId));
    assert.equal(compressed(tweak.change), compressed(pointOf(oldKey).subtract(pointOf(newKey))));
    const payload = transferPayload(transfer.transferId, sent.operatorPackages);
    const verifying = { prehash: false, format: "der" } as const;
    const signature = bytes(sent.transferUserSignature);
    assert.ok(secp256k1.verify(signature, payload, bytes(wallet.identityPublicKey), verifying));

    const onTheWay = operators.tweak(leaf, tweak);
    await assertSigns(operators, onTheWay, sender, { signingLeaf: { leafId: newLeafId } }, true);
    await assertSigns(operators, onTheWay, sender, derivation, false);

    const claim = claimOf(transfer, [tweak], operators.recipients, wallet.identityPublicKey);
    const { signWith } = receiver.wallet;
    const claimed = await receiver.client.result("spark_claim_transfer", { signWith, claim });
    const [taken] = operators.openTweaks(claimed.operatorPackages);
    assert.ok(taken);
    assert.deepEqual(Object.keys(taken.fields), ["1", "2", "3"]);
    const ownKey = await leafPublicKey(receiver.client, receiver.wallet, leafId);
    assert.deepEqual(claimed.newLeafPublicKeys, [{ leafId, publicKey: ownKey }]);
    assert.equal(compressed(taken.change), compressed(pointOf(newKey).subtract(pointOf(ownKey))));

    const arrived = operators.tweak(onTheWay, taken);
    await assertSigns(operators, arrived, receiver, derivation, true);
    await assertSigns(operators, arrived, sender, derivation, false);
    await assertSigns(operators, arrived, sender, { signingLeaf: { leafId: newLeafId } }, false);
  });

  async function assertSigns(
    operators: Operators,
    leaf: Parameters<Operators["signing"]>[0],
    { client, wallet }: { client: Client; wallet: TestSparkWallet },
    derivation: object,
    isSigned: boolean,
  ): Promise<void> {
    const signing = operators.signing(leaf, randomBytes(32));
    const [share] = await signFrost(client, wallet, [signing.request(derivation)]);
    assert.equal(signing.isSigned(share), isSigned);
  }

  function assertSent(tweak: OpenedTweak, leaf: Json, transferId: string, sender: TestSparkWallet): void {
    const { fields } = tweak;
    const [[cipher], [signature]] = [fields[4] as Buffer[], fields[5] as Buffer[]];
    assert.equal(tweak.leafId, leaf.leafId);
    assert.equal(cipher?.length, 129);
    const digest = sha256(leaf.leafId, transferId, cipher as Buffer);
    const key = bytes(sender.identityPublicKey);
    assert.ok(secp256k1.verify(signature as Buffer, digest, key, { prehash: false }));
    assert.equal(fields[6]?.[0]?.toString("hex"), leaf.refundSignature);
    assert.equal(fields[7], undefined, "an empty signature is left out");
    assert.equal(fields[8], undefined);
  }

  it("signs a transfer's packages to the last byte: none can be changed that opens, or that the signature covers", async () => {
    const { client, wallet } = await newOwner();
    const operators = new Operators(2, 2);
    const transfer = transferOf(operators.recipients, wallet.identityPublicKey, [newId()]);
    const sent = await client.result("spark_prepare_transfer", { signWith: wallet.signWith, transfer });
    const isSigned = (packages: Json[]): boolean =>
      secp256k1.verify(
        bytes(sent.transferUserSignature),
        transferPayload(transfer.transferId, packages as typeof sent.operatorPackages),
        bytes(wallet.identityPublicKey),
        { prehash: false, format: "der" },
      );
    assert.ok(isSigned(sent.operatorPackages));
    assert.equal(operators.openTweaks(sent.operatorPackages).length, 1);
    const [whole, other] = sent.operatorPackages;
    const { encryptedPackage } = whole;
    assert.ok(encryptedPackage.length > 400);
    for (let at = 1; at < encryptedPackage.length; at += 2) {
      const changed = [{ ...whole, encryptedPackage: flipped(encryptedPackage, at) }, other];
      assert.ok(!isSigned(changed), `byte ${(at - 1) / 2}`);
      assert.throws(() => operators.openTweaks(changed), `byte ${(at - 1) / 2}`);
    }
  });

  it("makes adaptor signatures that the adaptor's secret completes", async () => {
    const { client, wallet } = await newOwner();
    const operators = new Operators(3, 5);
    const leafId = newId();
    const leaf = operators.newLeaf(await leafPublicKey(client, wallet, leafId));
    const messages = Array.from({ length: 16 }, () => randomBytes(32));
    const { secret, point } = newAdaptor();
    const signings = messages.map((message) => operators.signing(leaf, message, point));
    const shares = await signFrost(
      client,
      wallet,
      signings.map((each) => each.request({ signingLeaf: { leafId } })),
    );
    for (const [at, signing] of signings.entries()) {
      const { signature, key } = signing.complete(shares[at]);
      const message = messages[at] as Buffer;
      assert.ok(!schnorr.verify(signature, message, key));
      assert.equal(completed(signature, secret, message, key).length, 1);
    }
  });

  it("signs with the identity, deposit and static deposit keys, and never twice with the same nonces", async () => {
    const { client, wallet } = await newOwner();
    const operators = new Operators(2, 3);
    const leaf = operators.newLeaf(wallet.identityPublicKey);
    const signing = operators.signing(leaf, randomBytes(32));
    const request = signing.request({ identity: {} });
    const others = [{ deposit: {} }, { staticDeposit: { index: 3 } }].map((each) => ({ ...request, derivation: each }));
    const shares = await signFrost(client, wallet, [request, request, ...others]);
    assert.ok(signing.isSigned(shares[0]) && signing.isSigned(shares[1]));
    assert.ok(!signing.isSigned(shares[2]) && !signing.isSigned(shares[3]));
    assert.equal(new Set(shares.flatMap(({ hiding, binding }) => [hiding, binding])).size, 8);
  });

  it("shares a preimage among operators, of whom every threshold has it and nobody fewer", async () => {
    const { client, wallet } = await newOwner();
    const operators = new Operators(2, 3);
    const request = { signWith: wallet.signWith, lightningReceive: operators.recipients };
    const { operatorPackages, paymentHash } = await client.result("spark_prepare_lightning_receive", request);
    for (const few of [
      [0, 1],
      [0, 2],
      [1, 2],
      [0, 1, 2],
    ]) {
      assert.equal(sha256(operators.preimage(operatorPackages, few)).toString("hex"), paymentHash);
    }
    for (const alone of [0, 1, 2]) {
      assert.notEqual(sha256(operators.preimage(operatorPackages, [alone])).toString("hex"), paymentHash);
    }
    assert.notEqual((await client.result("spark_prepare_lightning_receive", request)).paymentHash, paymentHash);
  });

  it("takes 300 signatures, and 100 leaves to ten operators, within the limits", async () => {
    const [sender, receiver] = [await newOwner(), await newOwner()];
    const operators = new Operators(2, 10);
    const leaf = operators.newLeaf(sender.wallet.identityPublicKey);
    const signings = Array.from({ length: 300 }, () => operators.signing(leaf, randomBytes(32)));
    const shares = await signFrost(
      sender.client,
      sender.wallet,
      signings.map((each) => each.request({ identity: {} })),
    );
    assert.equal(shares.length, 300);
    for (const at of [0, 150, 299]) assert.ok(signings[at]?.isSigned(shares[at]));

    const leafIds = leafIdsOf(100);
    const transfer = transferOf(operators.recipients, receiver.wallet.identityPublicKey, leafIds);
    const { signWith } = sender.wallet;
    const sent = await sender.client.result("spark_prepare_transfer", { signWith, transfer });
    const found = operators.open(sent.operatorPackages).map((message) => message[1]?.length);
    assert.deepEqual(
      found,
      operators.ids.map(() => 100),
    );
    assert.equal(new Set(sent.newLeafPublicKeys.map(({ publicKey }: Json) => publicKey)).size, 100);
  });

  describe("what it refuses", () => {
    const forFrost = async () => {
      const { client, wallet } = await newOwner();
      const operators = new Operators(2, 3);
      const signing = operators.signing(
        operators.newLeaf(wallet.identityPublicKey),
        randomBytes(32),
        newAdaptor().point,
      );
      const { signWith, identityPublicKey } = wallet;
      return { client, signWith, identityPublicKey, request: signing.request({ signingLeaf: { leafId: newId() } }) };
    };

    it("of signatures: what is no number, point or key that signs", async () => {
      const { client, signWith, identityPublicKey, request } = await forFrost();
      const [commitment, other] = request.operatorCommitments;
      const withCommitment = (change: object) => ({ operatorCommitments: [{ ...commitment, ...change }, other] });
      const offCurve = `02${"ff".repeat(32)}`;
      const ORDER = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
      const USER = "687da64d52a16c6fc792c6fc831ec1afa797a91f77549668a6b5421f12c1ac77";
      const cases: [object, string][] = [
        [{ message: request.message.slice(2) }, "message"],
        [{ message: `${request.message}00` }, "message"],
        [{ message: "AB".repeat(32) }, "message"],
        [{ message: `0x${request.message.slice(2)}` }, "message"],
        [{ verifyingKey: offCurve }, "verifyingKey"],
        [{ verifyingKey: "00".repeat(33) }, "verifyingKey"],
        [{ verifyingKey: request.verifyingKey.toUpperCase().replace("X", "x") }, "verifyingKey"],
        [{ verifyingKey: `04${request.verifyingKey.slice(2)}` }, "verifyingKey"],
        [{ adaptorPublicKey: offCurve }, "adaptorPublicKey"],
        [{ adaptorPublicKey: "02" }, "adaptorPublicKey"],
        [{ operatorCommitments: [] }, "operatorCommitments"],
        [withCommitment({ id: "00".repeat(32) }), "operatorCommitments.0.id"],
        [withCommitment({ id: ORDER }), "operatorCommitments.0.id"],
        [withCommitment({ id: USER }), "operatorCommitments.0.id"],
        [withCommitment({ id: other.id }), "operatorCommitments.1.id"],
        [withCommitment({ id: "01" }), "operatorCommitments.0.id"],
        [withCommitment({ hiding: offCurve }), "operatorCommitments.0.hiding"],
        [withCommitment({ binding: "00" }), "operatorCommitments.0.binding"],
        [{ derivation: { htlcPreimage: {} } }, "derivation"],
        [{ derivation: {} }, "derivation"],
        [{ derivation: { identity: {}, deposit: {} } }, "derivation"],
        [{ derivation: { signingLeaf: { leafId: newId().toUpperCase() } } }, "derivation.signingLeaf.leafId"],
        [{ derivation: { staticDeposit: { index: 2 ** 31 } } }, "derivation.staticDeposit.index"],
        [{ derivation: { staticDeposit: { index: -1 } } }, "derivation.staticDeposit.index"],
      ];
      for (const [change, field] of cases) {
        const signatures = [request, { ...request, ...change }];
        await refused(client, "spark_sign_frost", { signWith, signatures }, `parameters.signatures.1.${field}`);
      }
      await refused(client, "spark_sign_frost", { signWith, signatures: [] }, "parameters.signatures");
      // A share for the wallet's own key would be a Taproot signature by that key alone.
      const alone = { ...request, derivation: { identity: {} }, verifyingKey: identityPublicKey };
      const signatures = [request, alone];
      await refused(client, "spark_sign_frost", { signWith, signatures }, "parameters.signatures.1.verifyingKey");
      assert.equal((await signFrost(client, { signWith } as TestSparkWallet, [request])).length, 1);
    });

    it("of wallets: whose address is not a Spark identity's, and others' wallets", async () => {
      const { client, request } = await forFrost();
      const stranger = await newOwner();
      const path = "m/8797555'/0'/0'";
      const spark = { curve: "CURVE_SECP256K1", pathFormat: "PATH_FORMAT_BIP32" };
      const { addresses } = await client.result("create_wallet", {
        walletName: "Elsewhere",
        accounts: [
          { ...spark, path: "m/44'/0'/0'", addressFormat: "ADDRESS_FORMAT_SPARK_MAINNET" },
          { ...spark, path, addressFormat: "ADDRESS_FORMAT_COMPRESSED" },
        ],
      });
      for (const signWith of addresses) {
        const reason = await refused(
          client,
          "spark_sign_frost",
          { signWith, signatures: [request] },
          "parameters.signWith",
        );
        assert.match(reason, /m\/8797555'\/a'\/0'/);
      }
      const foreign = { signWith: stranger.wallet.signWith, signatures: [request] };
      assert.equal((await client.submit("spark_sign_frost", foreign)).status, 404);
    });

    it("of transfers: thresholds, duplicates, keys that stay, keys that are no leaf's", async () => {
      const { client, wallet } = await newOwner();
      const operators = new Operators(2, 3);
      const good = transferOf(operators.recipients, wallet.identityPublicKey, [newId(), newId()]);
      const [first, second] = good.leaves;
      const [operator, ...otherOperators] = good.operatorRecipients;
      const cases: [object, string][] = [
        [{ threshold: 0 }, "threshold"],
        [{ threshold: 1 }, "threshold"],
        [{ threshold: 4 }, "threshold"],
        [{ threshold: "2" }, "threshold"],
        [{ operatorRecipients: [] }, "threshold"],
        [{ operatorRecipients: [operator, operator] }, "operatorRecipients.1.operatorId"],
        [
          { operatorRecipients: [operator, { ...operator, operatorId: "another" }] },
          "operatorRecipients.1.encryptionPublicKey",
        ],
        [
          { operatorRecipients: [{ ...operator, operatorId: "" }, ...otherOperators] },
          "operatorRecipients.0.operatorId",
        ],
        [
          { operatorRecipients: [{ ...operator, encryptionPublicKey: `03${"ff".repeat(32)}` }, ...otherOperators] },
          "operatorRecipients.0.encryptionPublicKey",
        ],
        [{ receiverPublicKey: `02${"00".repeat(32)}` }, "receiverPublicKey"],
        [{ transferId: good.transferId.toUpperCase() }, "transferId"],
        [{ leaves: [] }, "leaves"],
        [{ leaves: [first, { ...second, leafId: first.leafId }] }, "leaves.1.leafId"],
        [{ leaves: [first, { ...second, newLeafDerivation: first.newLeafDerivation }] }, "leaves.1.newLeafDerivation"],
        [{ leaves: [{ ...first, newLeafDerivation: first.oldLeafDerivation }] }, "leaves.0.newLeafDerivation"],
        [{ leaves: [{ ...first, oldLeafDerivation: { identity: {} } }] }, "leaves.0.oldLeafDerivation"],
        [{ leaves: [{ ...first, newLeafDerivation: { htlcPreimage: {} } }] }, "leaves.0.newLeafDerivation"],
        [{ leaves: [{ ...first, refundSignature: "abc" }] }, "leaves.0.refundSignature"],
        [{ leaves: [{ ...first, directRefundSignature: "zz" }] }, "leaves.0.directRefundSignature"],
      ];
      const { signWith } = wallet;
      for (const [change, field] of cases) {
        const transfer = { ...good, ...change };
        const name = `parameters.transfer.${field}`;
        if (field === "threshold" && "operatorRecipients" in change) {
          await refused(client, "spark_prepare_transfer", { signWith, transfer }, "parameters.transfer.");
        } else await refused(client, "spark_prepare_transfer", { signWith, transfer }, name);
      }
      const many = new Operators(64, 64).recipients;
      const large = transferOf(many, wallet.identityPublicKey, leafIdsOf(100));
      await refused(client, "spark_prepare_transfer", { signWith, transfer: large }, "parameters.transfer.leaves");
      const lightningReceive = { ...operators.recipients, threshold: 1 };
      const receive = { signWith, lightningReceive };
      await refused(client, "spark_prepare_lightning_receive", receive, "parameters.lightningReceive.threshold");
    });

    it("of claims: signatures of others or for others, before it decrypts; and what it cannot decrypt", async () => {
      const [sender, receiver] = [await newOwner(), await newOwner()];
      const stranger = await newOwner();
      const operators = new Operators(2, 3);
      const sentTo = async (identityPublicKey: string) => {
        const transfer = transferOf(operators.recipients, identityPublicKey, [newId(), newId()]);
        const request = { signWith: sender.wallet.signWith, transfer };
        const { operatorPackages } = await sender.client.result("spark_prepare_transfer", request);
        const tweaks = operators.openTweaks(operatorPackages);
        return claimOf(transfer, tweaks, operators.recipients, sender.wallet.identityPublicKey);
      };
      const good = await sentTo(receiver.wallet.identityPublicKey);
      const [first, second] = good.leaves;
      const { signWith } = receiver.wallet;
      const refusal = async (claim: Json): Promise<string> => {
        const field = "parameters.claim.leaves";
        const text = await refused(receiver.client, "spark_claim_transfer", { signWith, claim }, field);
        return claim.leaves.reduce((text: string, { leafId }: Json) => text.replace(leafId, "ID"), text);
      };
      const toStranger = await sentTo(stranger.wallet.identityPublicKey);
      const unsigned = await Promise.all(
        [
          { ...good, senderIdentityPublicKey: stranger.wallet.identityPublicKey },
          { ...good, transferId: newId() },
          { ...good, leaves: [first, { ...second, senderSignature: flipped(second.senderSignature) }] },
          { ...good, leaves: [first, { ...second, senderSignature: "00".repeat(64) }] },
          { ...good, leaves: [first, { ...second, senderSignature: "ff".repeat(64) }] },
          { ...good, leaves: [{ ...first, ciphertext: flipped(first.ciphertext) }, second] },
          // The first cannot be decrypted and the second is not signed: the signature is what is told.
          { ...toStranger, leaves: [toStranger.leaves[0], { ...toStranger.leaves[1], leafId: newId() }] },
        ].map(refusal),
      );
      assert.equal(new Set(unsigned).size, 1);
      const undecryptable = await refusal(toStranger);
      assert.notEqual(undecryptable, unsigned[0]);
      const cases: [object, string][] = [
        [{ leaves: [{ ...first, ciphertext: first.ciphertext.slice(0, 192) }] }, "leaves.0.ciphertext"],
        [{ leaves: [{ ...first, senderSignature: first.senderSignature.slice(2) }] }, "leaves.0.senderSignature"],
        [{ leaves: [first, first] }, "leaves.1.leafId"],
        [{ threshold: 1 }, "threshold"],
        [{ senderIdentityPublicKey: `02${"ff".repeat(32)}` }, "senderIdentityPublicKey"],
      ];
      for (const [change, field] of cases) {
        const claim = { ...good, ...change };
        const name = `parameters.claim.${field}`;
        await refused(receiver.client, "spark_claim_transfer", { signWith, claim }, name);
      }
      const claimed = await receiver.client.result("spark_claim_transfer", { signWith, claim: good });
      assert.equal(claimed.newLeafPublicKeys.length, 2);
    });
  });

  describe("policies", () => {
    it("see what is signed, handed over and taken over", async () => {
      const { client, wallet } = await newOwner();
      const user = await addUser(client);
      const operators = new Operators(2, 3);
      const leafId = newId();
      const { signWith, identityPublicKey } = wallet;
      const transfer = transferOf(operators.recipients, identityPublicKey, [leafId]);
      const signing = operators.signing(operators.newLeaf(identityPublicKey), randomBytes(32));
      const frost = (derivation: object) => ({ signWith, signatures: [signing.request(derivation)] });
      const [recipient] = operators.recipients.operatorRecipients;
      const conditions = [
        "activity.kind == 'SPARK_SIGN_FROST' && activity.params.signatures.count() > 0 && " +
          "activity.params.signatures.all(s, s.derivation.type == 'signing_leaf' && " +
          `s.derivation.signing_leaf.leaf_id == '${leafId}' && s.derivation.static_deposit.index == 0 && ` +
          "s.adaptor_public_key == '' && s.operator_commitments.count() == 2)",
        "activity.kind == 'SPARK_PREPARE_TRANSFER' && activity.params.transfer.threshold == 2 && " +
          `activity.params.transfer.receiver_public_key == '${identityPublicKey}' && ` +
          `activity.params.transfer.leaves.all(l, l.leaf_id == '${leafId}' && l.direct_from_cpfp_refund_signature == '' && ` +
          "l.new_leaf_derivation.type == 'signing_leaf') && " +
          `activity.params.transfer.operator_recipients.any(o, o.operator_id == '${recipient?.operatorId}')`,
        "activity.kind == 'SPARK_CLAIM_TRANSFER' && " +
          `activity.params.claim.sender_identity_public_key == '${identityPublicKey}'`,
        "activity.kind == 'SPARK_PREPARE_LIGHTNING_RECEIVE' && activity.params.lightning_receive.threshold == 2 && " +
          `activity.params.sign_with == '${signWith}'`,
      ];
      for (const [at, condition] of conditions.entries()) {
        await client.result("create_policy", {
          policyName: `Spark ${at}`,
          effect: "EFFECT_ALLOW",
          condition,
          consensus: `approvers.any(user, user.id == '${user.userId}')`,
          notes: "",
        });
      }
      const statusOf = async (path: string, parameters: object) => (await user.client.submit(path, parameters)).status;
      assert.equal(await statusOf("spark_sign_frost", frost({ signingLeaf: { leafId } })), 200);
      for (const other of [{ signingLeaf: { leafId: newId() } }, { identity: {} }, { staticDeposit: { index: 0 } }]) {
        assert.equal(await statusOf("spark_sign_frost", frost(other)), 403, JSON.stringify(other));
      }
      const sent = await user.client.result("spark_prepare_transfer", { signWith, transfer });
      const elsewhere = { ...transfer, receiverPublicKey: newAdaptor().point.toHex(true) };
      assert.equal(await statusOf("spark_prepare_transfer", { signWith, transfer: elsewhere }), 403);
      const tweaks = operators.openTweaks(sent.operatorPackages);
      const claim = claimOf(transfer, tweaks, operators.recipients, identityPublicKey);
      assert.equal(await statusOf("spark_claim_transfer", { signWith, claim }), 200);
      assert.equal(
        await statusOf("spark_prepare_lightning_receive", { signWith, lightningReceive: operators.recipients }),
        200,
      );
      const all = { ...operators.recipients, threshold: 3 };
      assert.equal(await statusOf("spark_prepare_lightning_receive", { signWith, lightningReceive: all }), 403);
    });
  });

  it("keeps nothing secret in its rows and log", async () => {
    const [{ client, wallet }, receiver] = [await newOwner(), await newOwner()];
    const operators = new Operators(2, 3);
    const { signWith } = wallet;
    const signing = operators.signing(operators.newLeaf(wallet.identityPublicKey), randomBytes(32));
    await signFrost(client, wallet, [signing.request({ identity: {} })]);
    const transfer = transferOf(operators.recipients, receiver.wallet.identityPublicKey, [newId(), newId()]);
    const sent = await client.result("spark_prepare_transfer", { signWith, transfer });
    const tweaks = operators.openTweaks(sent.operatorPackages);
    const claim = claimOf(transfer, tweaks, operators.recipients, wallet.identityPublicKey);
    const claiming = { signWith: receiver.wallet.signWith, claim };
    const claimed = await receiver.client.result("spark_claim_transfer", claiming);
    const receiving = { signWith, lightningReceive: operators.recipients };
    const made = await client.result("spark_prepare_lightning_receive", receiving);

    const preimage = operators.preimage(made.operatorPackages, [0, 1]);
    const inPackages = [...tweaks, ...operators.openTweaks(claimed.operatorPackages)].flatMap(({ shares }) => [
      ...shares,
      interpolate([1, 2].map((x) => [x, shares[x - 1] as bigint] as const)),
    ]);
    const ofPreimage = [0, 1, 2].map((at) => operators.open(made.operatorPackages)[at]?.[1]?.[0] as Buffer);
    const secrets = [preimage, ...ofPreimage, ...inPackages.map((scalar) => Buffer.from(Fn.toBytes(scalar)))];
    assert.equal(secrets.length, 1 + 3 + 2 * 2 * 4);

    const rows = await Promise.all(
      [client, receiver.client].map(async (each) => (await each.read("list_activities")).activities),
    );
    const everything = JSON.stringify(rows) + (await dumpOf(server())) + server().log();
    for (const shown of [made.paymentHash, transfer.transferId]) assert.ok(everything.includes(shown));
    for (const secret of secrets) {
      for (const form of ["hex", "base64", "base64url"] as const)
        assert.ok(!everything.includes(secret.toString(form)));
    }
  });
});

/** All that the database has of activities. */
const dumpOf = async ({ opened: { database } }: TestServer): Promise<string> =>
  JSON.stringify(await database.read.selectFrom("activities").selectAll().execute());
