import assert from "node:assert/strict";
import { it } from "node:test";
import { largePsbt } from "../../../test/support/large-psbts.ts";
import { pointOf, smallScalar } from "../../crypto/spark/group.ts";
import { signTransaction } from "./sign-transaction.ts";
import { parseTransactionOf } from "./transactions.ts";

const publicKey = Buffer.from(pointOf(smallScalar(7)));
// So many that each request takes longer than one turn, however fast the machine is: those that fit in one are done as they came.
const unsignedTransaction = largePsbt(publicKey, { kind: "P2WPKH", inputs: 1000 }).toString("hex");
const type = "TRANSACTION_TYPE_BITCOIN";

/** Has six requests of one organization and then one of another do something; who was done, in this order. */
async function orderOf(work: (organizationId: string) => unknown): Promise<string[]> {
  const done: string[] = [];
  const each = async (organizationId: string) => {
    await work(organizationId);
    done.push(organizationId);
  };
  await Promise.all([...Array.from({ length: 6 }, () => each("busy")), each("other")]);
  return done;
}

it("long transactions of one organization do not keep those of another waiting for their check", async () => {
  const done = await orderOf((organizationId) =>
    signTransaction.check({ signWith: "key", unsignedTransaction, type }, { organizationId }),
  );
  assert.ok(done.indexOf("other") <= 1, done.join());
});

it("nor for what the signer is to sign of them", async () => {
  const reference = {
    kind: "walletAccount",
    walletId: "wallet",
    sealedWallet: "",
    curve: "CURVE_SECP256K1",
    path: "m",
  } as const;
  const key = { id: "key", reference, curve: "CURVE_SECP256K1", publicKey } as const;
  const done = await orderOf((organizationId) =>
    parseTransactionOf(type, unsignedTransaction).tasks(key, organizationId),
  );
  // Whoever asked first may be done before, as the two have their turns alternately.
  assert.ok(done.indexOf("other") <= 1, done.join());
});
