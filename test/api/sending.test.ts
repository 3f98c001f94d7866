import assert from "node:assert/strict";
import { it } from "node:test";
import { balanceOf, ended, TEST_CHAIN, testNode } from "../support/chain.ts";
import { newSender } from "../support/sender.ts";
import { onEachEngine } from "../support/server.ts";

const PATH = "eth_send_raw_transaction";

onEachEngine("eth_send_raw_transaction", (server) => {
  it("answers at once that the transaction is on its way, and later its hash", async () => {
    const { root } = server();
    const node = testNode();
    const { signedTransaction, hash, to } = await (await newSender(node)).sign();
    const { status, body } = await root.submit(PATH, { signedTransaction, caip2: TEST_CHAIN });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.activity.status, "ACTIVITY_STATUS_PENDING");
    assert.deepEqual(body.activity.result, {});
    const activity = await ended(root, body.activity.id);
    assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED", JSON.stringify(activity));
    assert.deepEqual(activity.result, { ethSendRawTransactionResult: { transactionHash: hash } });
    assert.equal((await node.receipt(hash)).status, "0x1");
    assert.equal(await balanceOf(node, to), 1n);
  });
});
