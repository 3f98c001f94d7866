import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { QUORUM_SEED_BYTES, quorumPublicKeyOf, shareDigest } from "../../crypto/manifests/quorum-keys.ts";
import { sealQuorumEnvelope } from "../../crypto/quorum-encryption.ts";
import { splitSecret } from "../../crypto/secret-sharing.ts";
import { QuorumKeyReceiver } from "./quorum-key-receiver.ts";

describe("the receiver of a quorum key", () => {
  const seed = randomBytes(QUORUM_SEED_BYTES);
  const publicKey = quorumPublicKeyOf(seed) ?? "";
  const shares = splitSecret(seed, { threshold: 2, shares: 3 });
  const digests = shares.map(shareDigest);

  const begun = () => {
    const receiver = new QuorumKeyReceiver();
    const target = Buffer.from(receiver.state.ephemeralPublicKey, "hex");
    /** The submission of an operator: their share, or something else. */
    const given = (index: number, bytes: Uint8Array = shares[index] as Buffer) => ({
      share: sealQuorumEnvelope(target, bytes).toString("hex"),
      digest: digests[index] as string,
    });
    const take = (...each: { share: string; digest: string }[]) =>
      receiver.take({ publicKey, threshold: 2, shares: each });
    return { receiver, given, take };
  };

  it("keeps a right share, whatever is handed in for the same operator afterwards", () => {
    const { receiver, given, take } = begun();
    assert.equal(take(given(0)), false);
    assert.equal(take(given(0, randomBytes(33))), false);
    assert.equal(receiver.state.wrongShares, 0);
    assert.equal(take(given(0, randomBytes(33)), given(1)), true);
    assert.deepEqual(receiver.seed, seed);
    receiver.forget();
  });

  it("counts what is wrong as long as it is handed in, and takes the right one in its place", () => {
    const { receiver, given, take } = begun();
    const wrong = given(0, randomBytes(33));
    for (let looks = 0; looks < 2; looks++) {
      assert.equal(take(wrong, given(1)), false);
      assert.equal(receiver.state.wrongShares, 1);
    }
    // The same envelope is valid for the operator whose share it contains.
    const third = given(2);
    assert.equal(take({ ...third, digest: digests[0] as string }), false);
    assert.equal(receiver.state.wrongShares, 1);
    assert.equal(take(third), true);
    assert.deepEqual(receiver.state, { ...receiver.state, isProvisioned: true, wrongShares: 0 });
    assert.deepEqual(receiver.seed, seed);
    receiver.forget();
  });

  it("does not count one share twice", () => {
    const { given, take } = begun();
    assert.equal(take(given(0), given(0)), false);
    assert.equal(take(given(0), given(2)), true);
  });
});
