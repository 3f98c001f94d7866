import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { KeysteadError } from "../../src/kernel/errors.ts";
import { MAX_SIGNER_WAITING, MAX_SIGNER_WAITING_COST } from "../../src/kernel/limits.ts";
import type { Asker } from "../../src/signer/client.ts";
import { costOf } from "../../src/signer/cost.ts";
import type { KeyReference, SignRequest } from "../../src/signer/protocol.ts";
import { newOwner, startTestSigner, type TestSigner } from "../support/signer.ts";
import { until } from "../support/until.ts";

/** One organization asks for more than the signer can do at once; what does another one see of it? */

interface Party {
  owner: TestSigner["owner"];
  key: KeyReference;
}

let test: TestSigner;
let busy: Party;
let bystander: Party;
before(async () => {
  test = await startTestSigner();
  [busy, bystander] = [await newParty("busy"), await newParty("bystander")];
});
after(() => test.close());

async function newParty(organizationId: string): Promise<Party> {
  const owner = await newOwner(test.signer, organizationId);
  const keys = [{ keyId: "key", curve: "CURVE_SECP256K1" as const }];
  const { keys: made } = await test.signer.ask({ verb: "generateKeys", ...owner, keys });
  const sealedKey = made[0]?.sealedKey as string;
  return { owner, key: { kind: "privateKey", keyId: "key", curve: "CURVE_SECP256K1", sealedKey } };
}

const payloads = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => Buffer.alloc(32, index).toString("base64"));

const signRequest = ({ owner, key }: Party, count: number): SignRequest => ({
  verb: "sign",
  ...owner,
  key,
  hash: "none",
  payloads: payloads(count),
});
const sign = (party: Party, count: number, asker?: Asker) => test.signer.ask(signRequest(party, count), asker);

const codeOf = (error: unknown): string => (error instanceof KeysteadError ? error.code : String(error));

describe("the signer shared by organizations", () => {
  it("answers a bystander long before it is through with what another one sent first", async (t) => {
    const { pid } = test.signer;
    let done = 0;
    const start = performance.now();
    const flood = Array.from({ length: 30 }, () => sign(busy, 1000).then(() => ++done));
    const doneBefore: number[] = [];
    for (let count = 0; count < 3; count++) {
      await sign(bystander, 1);
      doneBefore.push(done);
    }
    const ownMs = performance.now() - start;
    await Promise.all(flood);
    const allMs = performance.now() - start;
    t.diagnostic(
      `3 signatures one after the other in ${ownMs.toFixed(0)} ms, 30 times 1,000 in ${allMs.toFixed(0)} ms`,
    );
    assert.ok((doneBefore[0] as number) <= 1 && (doneBefore[2] as number) <= 3, `after ${doneBefore} of 30`);
    assert.equal(test.signer.pid, pid, "the signer was not given up meanwhile");
  });

  it("refuses who has too much waiting, says when to come again, and serves the others", async () => {
    let wanted = true;
    const shedBefore = test.signer.figures.shed;
    const heavy = { organizationId: "glutton", isWanted: () => wanted };
    const asked: Promise<string>[] = [];
    const ask = (count: number) => asked.push(sign(busy, count, heavy).then(() => "signed", codeOf));
    const mayWait = Math.floor(MAX_SIGNER_WAITING_COST / costOf(signRequest(busy, 1000)));
    const enough = mayWait + 5;
    for (let count = 0; count < enough; count++) ask(1000);
    assert.equal(test.signer.figures.waiting, mayWait);
    await assert.rejects(sign(busy, 1000, heavy), (error: KeysteadError) => {
      assert.equal(error.code, "SIGNER_BUSY");
      assert.equal(error.httpStatus, 429);
      assert.match(
        error.message,
        /is waiting for the signer; nothing was changed, send the request again in \d+ seconds$/,
      );
      assert.ok((error.retryAfterSeconds as number) >= 1 && (error.retryAfterSeconds as number) <= 30);
      return true;
    });
    await sign(bystander, 1);
    wanted = false;
    const outcomes = await Promise.all(asked);
    const counts = Object.groupBy(outcomes, (outcome) => outcome);
    assert.ok((counts.CLIENT_GONE?.length ?? 0) > enough / 2, "what nobody waits for is not signed");
    assert.equal(outcomes.length, enough);
    assert.equal(test.signer.figures.shed, shedBefore + (counts.SIGNER_BUSY?.length ?? 0) + 1);
    assert.equal(test.signer.figures.waiting, 0);
    await assert.rejects(sign(busy, 1, heavy), { code: "CLIENT_GONE" });
  });

  it("bounds short requests by their number", async () => {
    const flood = Array.from({ length: MAX_SIGNER_WAITING + 200 }, () => sign(busy, 1).then(() => "signed", codeOf));
    const counts = Object.groupBy(await Promise.all(flood), (outcome) => outcome);
    assert.deepEqual(Object.keys(counts).sort(), ["SIGNER_BUSY", "signed"]);
    assert.ok((counts.signed?.length ?? 0) >= MAX_SIGNER_WAITING);
  });

  it("tells those who wait and those in its hands when it is lost", async () => {
    const flood = Array.from({ length: 20 }, () =>
      sign(busy, 1000).then(
        () => "signed",
        (error: Error) => error.message,
      ),
    );
    const restarts = test.signer.figures.restarts;
    process.kill(test.signer.pid as number, "SIGKILL");
    const messages = Object.groupBy(await Promise.all(flood), (message) => message);
    const unavailable = (reason: string) =>
      `the signer is not available: ${reason}; nothing was changed, send the request again`;
    assert.deepEqual(Object.keys(messages).sort(), [
      unavailable("it is being restarted"),
      unavailable("it stopped while working on this request and is being restarted"),
    ]);
    assert.equal(test.signer.figures.waiting, 0);
    await until(() => test.signer.state === "ready", "the signer to be back");
    assert.equal(test.signer.figures.restarts, restarts + 1);
    assert.ok(test.signer.figures.busyMs > 0);
    await sign(busy, 1);
  });
});
