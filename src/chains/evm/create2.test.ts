import assert from "node:assert/strict";
import { test } from "node:test";
import { create2Address, deploymentData } from "./create2.ts";

/** The examples of EIP-1014: factory, salt, creation code, address. */
const published = [
  ["0x".padEnd(42, "0"), "", "00", "0x4D1A2e2bB4F88F0250f26Ffff098B0b30B26BF38"],
  ["0xdeadbeef".padEnd(42, "0"), "", "00", "0xB928f69Bb1D91Cd65274e3c79d8986362984fDA3"],
  [
    "0xdeadbeef".padEnd(42, "0"),
    "000000000000000000000000feed000000000000000000000000000000000000",
    "00",
    "0xD04116cDd17beBE565EB2422F2497E06cC1C9833",
  ],
  ["0x".padEnd(42, "0"), "", "deadbeef", "0x70f2b2914A2a4b783FaEFb75f459A580616Fcb5e"],
  ["0x00000000000000000000000000000000deadbeef", "cafebabe", "deadbeef", "0x60f3f640a8508fC6a86d45DF051962668E1e8AC7"],
  [
    "0x00000000000000000000000000000000deadbeef",
    "cafebabe",
    "deadbeef".repeat(11),
    "0x1d8bfDC5D46DC4f61D6b6115972536eBE6A8854C",
  ],
  ["0x".padEnd(42, "0"), "", "", "0xE33C0C7F7df4809055C3ebA6c09CFe4BaF1BD9e0"],
] as const;

test("a contract's address is that of EIP-1014", () => {
  for (const [factory, salt, code, address] of published) {
    const contract = { salt: `0x${salt.padStart(64, "0")}`, initCode: `0x${code}` };
    assert.equal(create2Address({ factory, ...contract }), address.toLowerCase());
  }
});

test("what is deployed is the salt and the code, in lowercase", () => {
  const contract = { salt: `0x${"AB".repeat(32)}`, initCode: "0xC0DE" };
  assert.equal(deploymentData(contract), `0x${"ab".repeat(32)}c0de`);
});

test("an address is derived from whole bytes of the right length, and from nothing else", () => {
  const factory = "0x".padEnd(42, "0");
  const salt = "0x".padEnd(66, "0");
  for (const wrong of [
    { factory: factory.slice(0, -2), salt, initCode: "0x" },
    { factory, salt: `${salt}00`, initCode: "0x" },
    { factory, salt: salt.slice(0, -2), initCode: "0x" },
    { factory, salt, initCode: "0x0" },
    { factory, salt, initCode: "0xzz" },
    { factory, salt, initCode: "0000" },
  ]) {
    assert.throws(() => create2Address({ ...wrong }), /no 0x hex/, JSON.stringify(wrong));
  }
});
