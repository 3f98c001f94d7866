import assert from "node:assert/strict";
import { test } from "node:test";
import {
  Keypair,
  NONCE_ACCOUNT_LENGTH,
  SystemProgram,
  Transaction,
  type TransactionInstruction,
} from "@solana/web3.js";
import { usesDurableNonce } from "./durable-nonce.ts";
import { parseTransaction } from "./transaction.ts";

const [payer, nonce] = [Keypair.generate().publicKey, Keypair.generate().publicKey];
const advance = SystemProgram.nonceAdvance({ noncePubkey: nonce, authorizedPubkey: payer });
const transfer = SystemProgram.transfer({ fromPubkey: payer, toPubkey: nonce, lamports: 5 });
const withdraw = SystemProgram.nonceWithdraw({
  noncePubkey: nonce,
  authorizedPubkey: payer,
  toPubkey: payer,
  lamports: NONCE_ACCOUNT_LENGTH,
});

function isDurable(...instructions: TransactionInstruction[]): boolean {
  const transaction = new Transaction({ feePayer: payer, blockhash: nonce.toBase58(), lastValidBlockHeight: 0 });
  for (const each of instructions) transaction.add(each);
  return usesDurableNonce(parseTransaction(transaction.serialize({ requireAllSignatures: false }), "transaction"));
}

test("a transaction does not expire if its first instruction advances a nonce account, and only then", () => {
  assert.equal(isDurable(advance, transfer), true);
  assert.equal(isDurable(transfer, advance), false);
  assert.equal(isDurable(transfer), false);
  assert.equal(isDurable(withdraw), false);
  assert.equal(isDurable(), false);
  const [cut, elsewhere] = [
    SystemProgram.nonceAdvance({ noncePubkey: nonce, authorizedPubkey: payer }),
    { ...advance },
  ];
  cut.data = cut.data.subarray(0, 3);
  assert.equal(isDurable(cut), false);
  elsewhere.programId = Keypair.generate().publicKey;
  assert.equal(isDurable(elsewhere), false);
});
