import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { serializeTransaction } from "viem";
import { findInterface, readInterface } from "../../src/capabilities/smart-contract-interfaces/store.ts";
import { newId } from "../../src/kernel/ids.ts";
import {
  MAX_CACHED_INTERFACE_BYTES,
  MAX_SMART_CONTRACT_INTERFACE_BYTES,
  MAX_SMART_CONTRACT_INTERFACES_BYTES,
} from "../../src/kernel/limits.ts";
import { addUser } from "../support/client.ts";
import { onOneEngine, startTestServer } from "../support/server.ts";
import { createWorld, type World } from "../support/world.ts";

const ETHEREUM = "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM";
const SOLANA = "SMART_CONTRACT_INTERFACE_TYPE_SOLANA";
const ABI = JSON.stringify([{ type: "function", name: "transfer", inputs: [], outputs: [] }]);
const IDL = JSON.stringify({ instructions: [], types: [], metadata: { name: "program" } });
const PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
const CHECKSUMMED = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";

onOneEngine("postgres", "smart contract interfaces", (server) => {
  const worldOf = () => createWorld(server());
  const create = ({ root }: World, more: object = {}) =>
    root.client.submit("create_smart_contract_interface", {
      smartContractAddress: `0x${randomBytes(20).toString("hex")}`,
      smartContractInterface: ABI,
      type: ETHEREUM,
      label: "Token",
      ...more,
    });
  const list = async ({ root }: World) =>
    (await root.client.read("list_smart_contract_interfaces")).smartContractInterfaces;

  it("are created, shown as they were sent, and deleted", async () => {
    const world = await worldOf();
    const { client } = world.root;
    const spaced = `${ABI}\n `;
    const stored = await create(world, { smartContractAddress: CHECKSUMMED, smartContractInterface: spaced });
    const { smartContractInterfaceId } = stored.body.activity.result.createSmartContractInterfaceResult;
    const shown = (await client.read("get_smart_contract_interface", { smartContractInterfaceId }))
      .smartContractInterface;
    const { createdAt, updatedAt, ...rest } = shown;
    assert.deepEqual(createdAt, updatedAt);
    assert.deepEqual(rest, {
      organizationId: world.organizationId,
      smartContractInterfaceId,
      smartContractAddress: CHECKSUMMED,
      smartContractInterface: spaced,
      type: ETHEREUM,
      label: "Token",
      notes: "",
    });
    assert.deepEqual(await list(world), [shown]);
    await client.result("delete_smart_contract_interface", { smartContractInterfaceId });
    assert.deepEqual(await list(world), []);
    const gone = await client.query("get_smart_contract_interface", { smartContractInterfaceId });
    assert.equal(gone.status, 404);
    assert.equal((await client.submit("delete_smart_contract_interface", { smartContractInterfaceId })).status, 404);
  });

  it("are not seen or deleted by another organization", async () => {
    const [world, foreign] = [await worldOf(), await worldOf()];
    const { body } = await create(world);
    const { smartContractInterfaceId } = body.activity.result.createSmartContractInterfaceResult;
    const { client } = foreign.root;
    assert.equal((await client.query("get_smart_contract_interface", { smartContractInterfaceId })).status, 404);
    assert.equal((await client.submit("delete_smart_contract_interface", { smartContractInterfaceId })).status, 404);
    assert.deepEqual(await list(foreign), []);
    assert.equal((await list(world)).length, 1);
  });

  it("are one for a contract: in any letter case on Ethereum, exactly on Solana, each organization its own", async () => {
    const [world, other] = [await worldOf(), await worldOf()];
    assert.equal((await create(world, { smartContractAddress: CHECKSUMMED })).status, 200);
    const again = await create(world, { smartContractAddress: CHECKSUMMED.toLowerCase() });
    assert.equal(again.status, 409);
    assert.match(
      again.body.message,
      /`parameters\.smartContractAddress` already has an interface of this type, [0-9a-f-]{36}/,
    );
    assert.equal((await create(other, { smartContractAddress: CHECKSUMMED })).status, 200);
    const solana = { smartContractInterface: IDL, type: SOLANA };
    assert.equal((await create(world, { ...solana, smartContractAddress: PROGRAM })).status, 200);
    assert.equal((await create(world, { ...solana, smartContractAddress: PROGRAM })).status, 409);
    const { read } = server().opened.database;
    const found = (address: string, type: typeof ETHEREUM | typeof SOLANA = ETHEREUM) =>
      findInterface(read, world.organizationId, type, address);
    const json = async (id: string | undefined) => readInterface(read, world.organizationId, id as string);
    assert.equal(await json(await found(CHECKSUMMED.toLowerCase())), ABI);
    assert.equal(await json(await found(PROGRAM, SOLANA)), IDL);
    assert.equal(await readInterface(read, other.organizationId, (await found(PROGRAM, SOLANA)) as string), undefined);
    assert.equal(await found(PROGRAM.toLowerCase(), SOLANA), undefined);
    assert.equal(await found(PROGRAM), undefined);
    assert.equal(await findInterface(read, newId(), ETHEREUM, CHECKSUMMED), undefined);
  });

  it("have addresses of their chain's form", async () => {
    const world = await worldOf();
    const solana = { smartContractInterface: IDL, type: SOLANA };
    const bad = [
      { smartContractAddress: CHECKSUMMED.slice(2) },
      { smartContractAddress: `${CHECKSUMMED}00` },
      { smartContractAddress: CHECKSUMMED.replace("0x", "0X") },
      { smartContractAddress: CHECKSUMMED.replace("C0", "G0") },
      { smartContractAddress: PROGRAM },
      { ...solana, smartContractAddress: CHECKSUMMED },
      { ...solana, smartContractAddress: PROGRAM.slice(1) },
      { ...solana, smartContractAddress: `${PROGRAM}1` },
      { ...solana, smartContractAddress: PROGRAM.replace("T", "0") },
      { ...solana, smartContractAddress: "1".repeat(33) },
    ];
    for (const more of bad) {
      const { status, body } = await create(world, more);
      assert.equal(status, 400, JSON.stringify(more));
      assert.match(body.message, /`parameters\.smartContractAddress` must be/);
    }
    assert.deepEqual(await list(world), []);
  });

  it("hold JSON of their kind", async () => {
    const world = await worldOf();
    const accepted = [JSON.stringify({ contractName: "Token", abi: JSON.parse(ABI) }), "[]", '[{"name":"f"}]'];
    for (const smartContractInterface of accepted) {
      assert.equal((await create(world, { smartContractInterface })).status, 200, smartContractInterface);
    }
    const deep = `${"[".repeat(65)}${"]".repeat(65)}`;
    const noAbi = ["", " ", "[", "null", "7", '"text"', "{}", "[null]", "[[]]", '[{"type":7}]', deep];
    noAbi.push('{"abi":{}}', '{"abi":[{}]}', '[{"type":"a","type":"b"}]', '[{"__proto__":{"type":"function"}}]', IDL);
    const noIdl = ["{}", "[]", '{"instructions":[]}', '{"types":[]}', '{"types":{},"instructions":[]}', ABI];
    const refused = [
      ...noAbi.map((smartContractInterface) => ({ smartContractInterface })),
      ...noIdl.map((smartContractInterface) => ({
        smartContractInterface,
        type: SOLANA,
        smartContractAddress: PROGRAM,
      })),
    ];
    for (const more of refused) {
      const { status, body } = await create(world, more);
      assert.equal(status, 400, JSON.stringify(more));
      assert.match(body.message, /`parameters\.smartContractInterface` (must|is not valid)/, JSON.stringify(more));
    }
    assert.equal((await list(world)).length, accepted.length);
  });

  it("are bounded in bytes, one by one and together", async () => {
    const world = await worldOf();
    const sized = (bytes: number) => ABI.padEnd(bytes);
    assert.equal(
      (await create(world, { smartContractInterface: sized(MAX_SMART_CONTRACT_INTERFACE_BYTES) })).status,
      200,
    );
    const long = await create(world, { smartContractInterface: sized(MAX_SMART_CONTRACT_INTERFACE_BYTES + 1) });
    assert.equal(long.status, 400);
    assert.match(long.body.message, /`parameters\.smartContractInterface` is longer than 409600 characters/);
    const wide = JSON.stringify([{ type: "function", name: "é".repeat(MAX_SMART_CONTRACT_INTERFACE_BYTES / 2) }]);
    const wider = await create(world, { smartContractInterface: wide });
    assert.equal(wider.status, 400);
    assert.match(wider.body.message, /has 409\d+ bytes, but at most 409600 are allowed/);
    const full = Math.floor(MAX_SMART_CONTRACT_INTERFACES_BYTES / MAX_SMART_CONTRACT_INTERFACE_BYTES);
    for (let stored = 1; stored < full; stored++) {
      const { status } = await create(world, { smartContractInterface: sized(MAX_SMART_CONTRACT_INTERFACE_BYTES) });
      assert.equal(status, 200);
    }
    const { status, body } = await create(world, {
      smartContractInterface: sized(MAX_SMART_CONTRACT_INTERFACE_BYTES),
    });
    assert.equal(status, 429);
    assert.match(body.message, /bytes of smart contract interfaces together/);
    assert.equal((await list(world)).length, full);
  });

  it("are for those whom policies let: everybody else is denied", async () => {
    const world = await worldOf();
    const { client } = world.user;
    const parameters = { smartContractAddress: CHECKSUMMED, smartContractInterface: ABI, type: ETHEREUM, label: "x" };
    assert.equal((await client.submit("create_smart_contract_interface", parameters)).status, 403);
    const condition = "activity.resource == 'SMART_CONTRACT_INTERFACE' && activity.action == 'CREATE'";
    const policy = { policyName: "interfaces", effect: "EFFECT_ALLOW", condition, consensus: "true", notes: "" };
    await world.root.client.result("create_policy", policy);
    const { status, body } = await client.submit("create_smart_contract_interface", { ...parameters, label: "y" });
    assert.equal(status, 200, JSON.stringify(body));
  });
});

it("parsed interfaces that are kept are bounded by what they take in memory", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const heapUsed = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  // Dimensions take two characters each, and become an object each: 2 MB of memory for 60 KB of text.
  const inputs = Array.from({ length: 1200 }, () => ({ type: `bool${"[]".repeat(16)}` }));
  const smartContractInterface = JSON.stringify([{ name: "f", inputs }]);
  const server = await startTestServer("sqlite");
  try {
    const { root } = await createWorld(server);
    const accounts = [
      {
        curve: "CURVE_SECP256K1",
        pathFormat: "PATH_FORMAT_BIP32",
        path: "m/44'/60'/0'/0/0",
        addressFormat: "ADDRESS_FORMAT_ETHEREUM",
      },
    ];
    const [signWith] = (await root.client.result("create_wallet", { walletName: "W", accounts })).addresses;
    await root.client.result("create_policy", {
      policyName: "reads the interface",
      effect: "EFFECT_DENY",
      condition: "eth.tx.function_name == 'g'",
      consensus: "true",
      notes: "",
    });
    const { client } = await addUser(root.client, "Signer");
    const sign = async (index: number) => {
      const to = `0x${index.toString(16).padStart(40, "0")}` as const;
      const unsignedTransaction = serializeTransaction({ type: "eip1559", chainId: 1, to, data: "0x01020304" });
      const type = "TRANSACTION_TYPE_ETHEREUM";
      const { status } = await client.submit("sign_transaction", { signWith, type, unsignedTransaction });
      assert.equal(status, 403);
    };
    const count = 60;
    for (let index = 0; index < count; index++) {
      const smartContractAddress = `0x${index.toString(16).padStart(40, "0")}`;
      const contract = { smartContractAddress, smartContractInterface, type: ETHEREUM, label: "L", notes: "" };
      await root.client.result("create_smart_contract_interface", contract);
    }
    await sign(count);
    const before = heapUsed();
    for (let index = 0; index < count; index++) await sign(index);
    const growth = heapUsed() - before;
    assert.ok(growth < 1.5 * MAX_CACHED_INTERFACE_BYTES, `${growth} bytes`);
    assert.ok(growth > MAX_CACHED_INTERFACE_BYTES / 4, `${growth} bytes: they are remembered at all`);
  } finally {
    await server.close();
  }
});
