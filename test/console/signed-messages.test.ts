import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import fc from "fast-check";
import { checksumAddress, hexToBytes, stringToHex, toPrefixedMessage } from "viem";
import { personalMessageIn, readTypedData, textOf } from "../../console/src/chains/signed-messages.ts";
import { parseTypedData, type TypedDataValue } from "../../src/chains/evm/typed-data.ts";
import { anyText } from "../support/any-text.ts";

const vectors = <Case>(name: string): Case[] =>
  JSON.parse(readFileSync(new URL(`../vectors/eip712/${name}.json`, import.meta.url), "utf8")).cases;

/** Values in the order in which they stand, as the console tells them; nothing of an empty list. */
function flat(value: TypedDataValue): string[] {
  if (Array.isArray(value)) return value.length === 0 ? ["nothing"] : value.flatMap(flat);
  if (typeof value === "object") return Object.values(value as object).flatMap(flat);
  return [String(value)];
}

const lower = (values: string[]): string[] => values.map((value) => value.toLowerCase());

describe("typed data in the console", () => {
  const valid = vectors<{ name: string; data: unknown }>("valid");
  const textOfCase = ({ data, text }: { data?: unknown; text?: string }): string => text ?? JSON.stringify(data);

  it("is read as the server reads it, of every vector", () => {
    assert.ok(valid.length >= 10);
    for (const each of valid) {
      const json = JSON.stringify(each.data);
      const read = readTypedData(json);
      const { primaryType, domain, message } = parseTypedData(json, "payload");
      assert.ok(read && !read.isCut, each.name);
      assert.equal(read.primaryType, primaryType, each.name);
      const values = [...read.domain, ...read.message].map(({ value }) => value);
      assert.deepEqual(lower(values), lower([...flat(domain), ...flat(message)]), each.name);
    }
  });

  it("says of the specification's mail who writes what to whom, and where it counts", () => {
    const [{ data } = {}] = valid;
    const read = readTypedData(JSON.stringify(data));
    assert.deepEqual(read, {
      primaryType: "Mail",
      domain: [
        { path: "name", type: "string", value: "Ether Mail" },
        { path: "version", type: "string", value: "1" },
        { path: "chainId", type: "uint256", value: "1" },
        {
          path: "verifyingContract",
          type: "address",
          value: checksumAddress("0xcccccccccccccccccccccccccccccccccccccccc"),
        },
      ],
      message: [
        { path: "from.name", type: "string", value: "Cow" },
        { path: "from.wallet", type: "address", value: "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826" },
        { path: "to.name", type: "string", value: "Bob" },
        { path: "to.wallet", type: "address", value: "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB" },
        { path: "contents", type: "string", value: "Hello, Bob!" },
      ],
      isCut: false,
    });
  });

  it("leaves out what no type declares, for nobody signs it", () => {
    const types = { T: [{ name: "amount", type: "uint256" }] };
    const message = { amount: "0x10", note: "harmless" };
    const read = readTypedData(JSON.stringify({ types, primaryType: "T", domain: {}, message }));
    assert.deepEqual(read?.message, [{ path: "amount", type: "uint256", value: "16" }]);
  });

  it("is cut where there is too much of it, and says so", () => {
    const types = { T: [{ name: "list", type: "uint8[]" }] };
    const read = (length: number) =>
      readTypedData(JSON.stringify({ types, primaryType: "T", domain: {}, message: { list: Array(length).fill(7) } }));
    assert.deepEqual([read(100)?.message.length, read(100)?.isCut], [100, false]);
    assert.deepEqual([read(101)?.message.length, read(101)?.isCut], [100, true]);
    assert.equal(read(40_000), undefined);
  });

  it("that is none is not read, and nothing is thrown", () => {
    const invalid = vectors<{ data?: unknown; text?: string }>("invalid");
    assert.ok(invalid.length >= 10);
    for (const each of invalid) readTypedData(textOfCase(each));
    for (const text of ["", "{}", "[]", "null", '"{}"', '{"types":{}}', '{"types":{"T":7},"primaryType":"T"}'])
      assert.equal(readTypedData(text), undefined, text);
    const types = { T: [{ name: "to", type: "address" }] };
    for (const message of [undefined, {}, { to: 7 }, { to: "0x12" }, []])
      assert.equal(readTypedData(JSON.stringify({ types, primaryType: "T", domain: {}, message })), undefined);
    const endless = { T: [{ name: "t", type: "T" }] };
    assert.equal(
      readTypedData(JSON.stringify({ types: endless, primaryType: "T", domain: {}, message: {} })),
      undefined,
    );
    fc.assert(fc.property(fc.json(), (json) => void readTypedData(json)));
  });
});

describe("personal messages in the console", () => {
  it("are found in what viem has wallets sign, whatever they begin with", () => {
    const found = (text: string) => {
      const message = personalMessageIn(hexToBytes(toPrefixedMessage(text)));
      return message && textOf(message);
    };
    for (const text of ["", "0", "10", "Hello", "1".repeat(11), "héllo 👋", "\ufeffmarked"])
      assert.equal(found(text), text);
    fc.assert(fc.property(anyText(), (text) => assert.equal(found(text), text)));
  });

  it("are none where the length is another one, or the prefix is not there", () => {
    const bytes = (text: string) => hexToBytes(stringToHex(text));
    for (const text of ["", "\x19Ethereum Signed Message:\n", "\x19Ethereum Signed Message:\n4Hello"])
      assert.equal(personalMessageIn(bytes(text)), undefined, text);
    assert.equal(personalMessageIn(bytes("\x19Ethereum Signed Message:\n05Hello")), undefined);
    assert.equal(personalMessageIn(bytes("\x18Ethereum Signed Message:\n5Hello")), undefined);
  });

  it("are no text where they are no UTF-8", () => {
    assert.equal(textOf(Uint8Array.of(0xff)), undefined);
  });
});
