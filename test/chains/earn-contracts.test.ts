import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Address, zeroAddress } from "viem";
import { type Anvil, startAnvil } from "../support/anvil.ts";
import { type Contract, contractAt, deployContract, newCaller } from "../support/deployed-contracts.ts";
import { newAddress } from "../support/evm-sender.ts";
import { areLong } from "../support/long-tests.ts";
import { type SeededRandom, seededRandom } from "../support/random.ts";

const UNIT = 1_000_000n;
const CLIENT_BPS = 2000n;
const SERVICE_BPS = 1000n;
const VIRTUAL = 1_000_000n;
const BPS = 10_000n;

const ceil = (a: bigint, b: bigint) => (a + b - 1n) / b;

describe("the contracts of earn", () => {
  let node: Anvil;
  let maker: Address;
  let token: Contract;
  const client = newAddress() as Address;
  const service = newAddress() as Address;

  before(async () => {
    node = await startAnvil();
    maker = await newCaller(node);
    token = await deployContract(node, maker, "TestToken");
  });
  after(() => node.stop());

  async function newWrapper(vaultKind: string, kind = "Morpho", fees = [CLIENT_BPS, SERVICE_BPS]) {
    const vault = await deployContract(node, maker, vaultKind, token.address);
    const args = [vault.address, client, fees[0], service, fees[1]];
    const wrapper = await deployContract(node, maker, `${kind}FeeWrapper`, ...args);
    const splitterKind = kind === "Morpho" ? "PaymentSplitter" : "RevenueSplitterOwner";
    const splitter = contractAt(node, splitterKind, await wrapper.read<string>("performanceFeeRecipient"));
    return { vault, wrapper, splitter };
  }

  async function newDepositor(wrapper: Contract, amount = 10n ** 6n * UNIT): Promise<Address> {
    const depositor = await newCaller(node);
    await token.write(maker, "mint", depositor, amount);
    await token.write(depositor, "approve", wrapper.address, 2n ** 256n - 1n);
    return depositor;
  }

  const balance = (account: string): Promise<bigint> => token.read("balanceOf", account);
  const earn = (vault: Contract, amount: bigint) => token.write(maker, "mint", vault.address, amount);

  it("takes the fee on gross yield, and pays client and service their parts of it to the wei", async () => {
    const { vault, wrapper, splitter } = await newWrapper("TestVault");
    const depositor = await newDepositor(wrapper);
    const stranger = await newDepositor(vault);
    await vault.write(stranger, "deposit", 3000n * UNIT, stranger);
    await wrapper.write(depositor, "deposit", 1000n * UNIT, depositor);
    await earn(vault, 400n * UNIT);
    // A quarter of the yield, but for what the vault beneath keeps in rounding; of that, three tenths.
    const worth = await vault.read("convertToAssets", await wrapper.read("held"));
    const gain = worth - 1000n * UNIT;
    assert.ok(gain === 100n * UNIT || gain === 100n * UNIT - 1n);
    const fee = (gain * (CLIENT_BPS + SERVICE_BPS)) / BPS;
    const [clientDue, serviceDue] = await Promise.all(
      [client, service].map((account) => splitter.read("releasable", token.address, account)),
    );
    assertWithin(clientDue as bigint, (fee * 2n) / 3n, 1n);
    assertWithin(serviceDue as bigint, fee / 3n, 1n);
    const shares = await wrapper.read("balanceOf", depositor);
    assertWithin(await wrapper.read("previewRedeem", shares), worth - fee, 1n);

    const before = [await balance(client), await balance(service)] as const;
    await splitter.write(maker, "release", token.address, client);
    assert.equal((await balance(client)) - before[0], clientDue);
    assert.equal(await balance(service), before[1]);
    await assert.rejects(splitter.write(maker, "release", token.address, client), /NothingDue/);
    await splitter.write(maker, "release", token.address, service);
    assert.equal((await balance(service)) - before[1], serviceDue);
    const had = await balance(depositor);
    await wrapper.write(depositor, "redeem", shares, depositor, depositor);
    assertWithin((await balance(depositor)) - had, worth - fee, 2n);
    assert.equal(await wrapper.read("balanceOf", depositor), 0n);
  });

  it("of Aave's kind splits among everybody at once", async () => {
    const { vault, wrapper, splitter } = await newWrapper("TestVault", "Aave");
    const depositor = await newDepositor(wrapper);
    await wrapper.write(depositor, "deposit", 1000n * UNIT, depositor);
    await earn(vault, 100n * UNIT);
    const before = [await balance(client), await balance(service)] as const;
    await splitter.write(maker, "splitRevenue", token.address);
    assertWithin((await balance(client)) - before[0], 20n * UNIT, 2n);
    assertWithin((await balance(service)) - before[1], 10n * UNIT, 2n);
    await assert.rejects(splitter.write(maker, "splitRevenue", token.address), /NothingDue/);
  });

  it("takes no fee on what only makes up for a loss", async () => {
    const { vault, wrapper, splitter } = await newWrapper("TestVault");
    const depositor = await newDepositor(wrapper);
    await wrapper.write(depositor, "deposit", 1000n * UNIT, depositor);
    await vault.write(maker, "lose", 200n * UNIT);
    await wrapper.write(maker, "accrue");
    await earn(vault, 200n * UNIT);
    await wrapper.write(maker, "accrue");
    assert.equal(await splitter.read("releasable", token.address, client), 0n);
    await earn(vault, 50n * UNIT);
    assertWithin(await splitter.read("releasable", token.address, client), 10n * UNIT, 2n);
  });

  it("has no fee where there is none, and none above the caps", async () => {
    const { vault, wrapper, splitter } = await newWrapper("TestVault", "Morpho", [0n, 0n]);
    const depositor = await newDepositor(wrapper);
    await wrapper.write(depositor, "deposit", 1000n * UNIT, depositor);
    await earn(vault, 100n * UNIT);
    assertWithin(await wrapper.read("previewRedeem", await wrapper.read("balanceOf", depositor)), 1100n * UNIT, 1n);
    assert.equal(await splitter.read("releasable", token.address, client), 0n);
    await newWrapper("TestVault", "Morpho", [4000n, 1000n]);
    for (const fees of [
      [4001n, 0n],
      [4000n, 1001n],
      [0n, 5001n],
      [2n ** 256n - 1n, 1n],
    ])
      await assert.rejects(newWrapper("TestVault", "Aave", fees), /was not deployed/);
  });

  it("rounds in favour of those who stay: coming and going earns nothing, previews promise no more than is given", async () => {
    const { vault, wrapper } = await newWrapper("TestVault");
    const [one, other] = [await newDepositor(wrapper), await newDepositor(wrapper)];
    await wrapper.write(one, "deposit", 777_777_777n, one);
    await earn(vault, 123_456_789n);
    for (const assets of [1_003n, 7_777n, 999_999n, 123_456_789n]) {
      const promised = await wrapper.read("previewDeposit", assets);
      const [had, price] = [await balance(other), await priceOf(wrapper)];
      await wrapper.write(other, "deposit", assets, other);
      const shares = await wrapper.read("balanceOf", other);
      assert.ok(shares >= promised);
      const comesOut = await wrapper.read("previewRedeem", shares);
      await wrapper.write(other, "redeem", shares, other, other);
      const lost = had - (await balance(other));
      assert.ok(lost >= 0n && lost <= 3n, `${lost}`);
      assert.ok(assets - lost >= comesOut);
      assertNotBelow(await priceOf(wrapper), price);
    }
    const wanted = 5_000_000n * VIRTUAL;
    const cost = await wrapper.read("previewMint", wanted);
    const had = await balance(other);
    await wrapper.write(other, "mint", wanted, other);
    assert.equal(had - (await balance(other)), cost);
    const back = cost - 5n;
    const burned = await wrapper.read("previewWithdraw", back);
    await wrapper.write(other, "withdraw", back, other, other);
    assert.equal(wanted - (await wrapper.read("balanceOf", other)), burned);
    assert.ok(burned <= wanted);
  });

  it("is entered and left for others as ERC-4626 says, with their leave alone", async () => {
    const { wrapper } = await newWrapper("TestVault");
    const [one, other] = [await newDepositor(wrapper), await newDepositor(wrapper)];
    await wrapper.write(one, "deposit", 100n * UNIT, other);
    const shares = await wrapper.read("balanceOf", other);
    assert.equal(await wrapper.read("balanceOf", one), 0n);
    await assert.rejects(wrapper.write(one, "redeem", shares, one, other), /ERC20InsufficientAllowance/);
    await assert.rejects(wrapper.write(one, "withdraw", 1n, one, other), /ERC20InsufficientAllowance/);
    await wrapper.write(other, "approve", one, shares);
    const had = await balance(one);
    await wrapper.write(one, "redeem", shares, one, other);
    assertWithin((await balance(one)) - had, 100n * UNIT, 1n);
    await assert.rejects(wrapper.write(other, "redeem", 1n, other, other), /ERC20InsufficientBalance/);
  });

  it("an empty one cannot be inflated, neither by gifts nor through the vault beneath", async () => {
    for (const gift of ["assets to the wrapper", "shares to the wrapper", "assets to the vault"]) {
      const { vault, wrapper } = await newWrapper("TestVault");
      const [attacker, victim] = [await newDepositor(wrapper), await newDepositor(wrapper)];
      await wrapper.write(attacker, "deposit", 1n, attacker);
      if (gift === "assets to the wrapper") await token.write(attacker, "transfer", wrapper.address, 10_000n * UNIT);
      if (gift === "assets to the vault") await token.write(attacker, "transfer", vault.address, 10_000n * UNIT);
      if (gift === "shares to the wrapper") {
        await token.write(attacker, "approve", vault.address, 10_000n * UNIT);
        await vault.write(attacker, "deposit", 10_000n * UNIT, wrapper.address);
      }
      const had = await balance(victim);
      const isIn = await wrapper.write(victim, "deposit", 5000n * UNIT, victim).then(
        () => true,
        (error) => {
          assert.match(String(error), /DepositWorthLess/, gift);
          return false;
        },
      );
      if (isIn) await wrapper.write(victim, "redeem", await wrapper.read("balanceOf", victim), victim, victim);
      assertWithin(await balance(victim), had, (5000n * UNIT) / 100n);
      if (gift !== "assets to the vault") assert.ok(isIn, gift);
    }
  });

  const tricks = ["NONE", "SILENT", "BOASTS", "MUMBLES", "REVERTS", "STEALS", "LEAVES", "SHORTCHANGES", "OVERTAKES"];
  const play = (vault: Contract, trick: string, call = "0x") =>
    vault.write(maker, "play", [...tricks, "REENTERS"].indexOf(trick), call);

  it("a vault that reverts or lies costs nobody a deposit, and withdrawals work again as soon as it does", async () => {
    const { vault, wrapper, splitter } = await newWrapper("HostileVault");
    const depositor = await newDepositor(wrapper);
    await wrapper.write(depositor, "deposit", 1000n * UNIT, depositor);
    await earn(vault, 100n * UNIT);
    for (const trick of ["SILENT", "MUMBLES", "REVERTS", "STEALS", "LEAVES"]) {
      await play(vault, trick);
      const before = await stateOf(wrapper, depositor);
      await assert.rejects(wrapper.write(depositor, "deposit", 100n * UNIT, depositor), trick);
      await assert.rejects(wrapper.write(depositor, "mint", 100n * UNIT * VIRTUAL, depositor), trick);
      assert.deepEqual(await stateOf(wrapper, depositor), before, trick);
    }
    for (const trick of ["REVERTS", "SHORTCHANGES"]) {
      await play(vault, trick);
      const before = await stateOf(wrapper, depositor);
      await assert.rejects(wrapper.write(depositor, "withdraw", 100n * UNIT, depositor, depositor), trick);
      assert.deepEqual(await stateOf(wrapper, depositor), before, trick);
    }
    await play(vault, "OVERTAKES");
    const shares = await wrapper.read("balanceOf", depositor);
    await assert.rejects(wrapper.write(depositor, "redeem", shares / 2n, depositor, depositor), /VaultMisbehaved/);
    // What a vault says of its shares decides on the fee alone, and never on whether somebody can leave.
    for (const trick of ["SILENT", "BOASTS", "NONE"]) {
      await play(vault, trick);
      const had = await balance(depositor);
      await wrapper.write(depositor, "withdraw", 100n * UNIT, depositor, depositor);
      assert.equal((await balance(depositor)) - had, 100n * UNIT, trick);
    }
    await play(vault, "REVERTS");
    await assert.rejects(splitter.write(maker, "release", token.address, client), /NothingDue/);
    await play(vault, "NONE");
    const had = await balance(depositor);
    await wrapper.write(depositor, "redeem", await wrapper.read("balanceOf", depositor), depositor, depositor);
    assert.ok((await balance(depositor)) > had);
    await splitter.write(maker, "release", token.address, client);
  });

  it("a vault that calls back gets nowhere", async () => {
    const { vault, wrapper } = await newWrapper("HostileVault");
    const depositor = await newDepositor(wrapper);
    await wrapper.write(depositor, "deposit", 1000n * UNIT, depositor);
    const shares = await wrapper.read("balanceOf", depositor);
    const calls = [
      wrapper.data("accrue"),
      wrapper.data("deposit", 1n, vault.address),
      wrapper.data("mint", 1n, vault.address),
      wrapper.data("withdraw", 1n, vault.address, depositor),
      wrapper.data("redeem", shares, vault.address, depositor),
    ];
    for (const call of calls) {
      await play(vault, "REENTERS", call);
      const before = await stateOf(wrapper, depositor);
      for (const attempt of [
        ["deposit", 10n * UNIT, depositor],
        ["mint", 10n * UNIT * VIRTUAL, depositor],
        ["withdraw", 10n * UNIT, depositor, depositor],
        ["redeem", shares, depositor, depositor],
      ] as [string, ...unknown[]][])
        await assert.rejects(wrapper.write(depositor, ...attempt), /ReentrancyGuardReentrantCall/);
      assert.deepEqual(await stateOf(wrapper, depositor), before);
    }
  });

  it("a splitter pays no shares of its wrapper, and any other token by the same parts", async () => {
    const { wrapper, splitter } = await newWrapper("TestVault");
    const other = await deployContract(node, maker, "TestToken");
    const depositor = await newDepositor(wrapper);
    await wrapper.write(depositor, "deposit", 100n * UNIT, splitter.address);
    await assert.rejects(splitter.write(maker, "release", wrapper.address, client), /NotPaidHere/);
    await other.write(maker, "mint", splitter.address, 31n);
    await splitter.write(maker, "release", other.address, client);
    assert.equal(await other.read("balanceOf", client), 20n);
    await assert.rejects(splitter.write(maker, "release", other.address, zeroAddress), /NothingDue/);
  });

  const SEQUENCES = areLong ? 40 : 4;
  const STEPS = 30;
  /** What a model of the wrapper in whole numbers says; KEYSTEAD_LONG_TESTS=1 tries ten times as many. */
  it(`keeps its invariants over random sequences`, async (test) => {
    const random = seededRandom();
    test.diagnostic(`seed ${random.seed}`);
    for (let sequence = 0; sequence < SEQUENCES; sequence++) {
      const kind = random.pick(["Morpho", "Aave"]);
      const fees = [BigInt(random.integer(0, 4000)), BigInt(random.integer(0, 1000))];
      const made = await newWrapper("TestVault", kind, fees);
      const people = [await newDepositor(made.wrapper), await newDepositor(made.wrapper)];
      const bystander = await newDepositor(made.vault);
      if (random.integer(0, 1) === 1) await made.vault.write(bystander, "deposit", 12_345_678_901n, bystander);
      const model = newModel(fees.reduce((sum, fee) => sum + fee));
      const context = `TEST_SEED=${random.seed}, sequence ${sequence}`;
      for (let step = 0; step < STEPS; step++) {
        const price = await priceOf(made.wrapper);
        const action = await takeStep(random, made, people, model);
        const place = `${context}, step ${step}: ${action}`;
        if (!/^(earn|lose)/.test(action)) assertNotBelow(await priceOf(made.wrapper), price, place);
        await checkInvariants(made, people, model, place);
      }
      for (const person of people) {
        const shares = await made.wrapper.read("balanceOf", person);
        if (shares > 0n) await made.wrapper.write(person, "redeem", shares, person, person);
        assert.equal(await made.wrapper.read("balanceOf", person), 0n, context);
      }
    }
  });

  type Made = Awaited<ReturnType<typeof newWrapper>>;

  /** The wrapper as whole numbers: what its accounts have to come to. */
  interface Model {
    feeBps: bigint;
    supply: bigint;
    held: bigint;
    lastValue: bigint;
    loss: bigint;
  }
  const newModel = (feeBps: bigint): Model => ({ feeBps, supply: 0n, held: 0n, lastValue: 0n, loss: 0n });

  function accrue(model: Model, value: bigint): void {
    if (value <= model.lastValue) {
      model.loss += model.lastValue - value;
    } else {
      const gain = value - model.lastValue;
      const recovered = gain < model.loss ? gain : model.loss;
      model.loss -= recovered;
      const fee = ((gain - recovered) * model.feeBps) / BPS;
      const part = (fee * model.held * VIRTUAL) / value;
      model.supply += ((model.supply + VIRTUAL) * part) / ((model.held + 1n) * VIRTUAL - part);
    }
    model.lastValue = value;
  }

  async function takeStep(random: SeededRandom, made: Made, people: Address[], model: Model): Promise<string> {
    const { vault, wrapper, splitter } = made;
    const person = random.pick(people);
    const amount = BigInt(random.integer(1_000, 10 ** random.integer(4, 11)));
    const shares = await wrapper.read("balanceOf", person);
    const action = random.pick(["deposit", "mint", "withdraw", "redeem", "earn", "lose", "claim", "gift"]);
    const valueBefore = await vault.read("convertToAssets", model.held);
    const heldBefore = await vault.read("balanceOf", wrapper.address);
    /** Of the vault's shares that came (or went), as they were found there. */
    const settle = async (ownShares: (moved: bigint) => bigint) => {
      const moved = (await vault.read("balanceOf", wrapper.address)) - heldBefore;
      accrue(model, valueBefore);
      const own = ownShares(moved);
      if (own < 0n) model.loss -= (model.loss * -own) / (model.supply + VIRTUAL);
      model.supply += own;
      model.held += moved;
      model.lastValue = await vault.read("convertToAssets", model.held);
    };
    switch (action) {
      case "deposit":
        if (!(await isIn(wrapper.write(person, "deposit", amount, person)))) return `deposit ${amount}: too little`;
        await settle((moved) => (moved * (model.supply + VIRTUAL)) / (model.held + 1n));
        return `deposit ${amount}`;
      case "mint": {
        const wanted = amount * VIRTUAL;
        if ((await wrapper.read("previewMint", wanted)) > (await balance(person))) return "mint: too much";
        if (!(await isIn(wrapper.write(person, "mint", wanted, person)))) return `mint ${wanted}: too little`;
        await settle(() => wanted);
        return `mint ${wanted}`;
      }
      case "withdraw": {
        const most = await wrapper.read("maxWithdraw", person);
        if (most < 2n) return "withdraw: nothing";
        const assets = 1n + (amount % (most - 1n));
        const had = await balance(person);
        await wrapper.write(person, "withdraw", assets, person, person);
        assert.equal((await balance(person)) - had, assets);
        await settle((moved) => -ceil(-moved * (model.supply + VIRTUAL), model.held + 1n));
        return `withdraw ${assets}`;
      }
      case "redeem": {
        if (shares === 0n) return "redeem: nothing";
        const part = random.integer(0, 2) === 0 ? shares : 1n + ((amount * VIRTUAL) % shares);
        const promised = await wrapper.read("previewRedeem", part);
        const had = await balance(person);
        await wrapper.write(person, "redeem", part, person, person);
        assert.equal((await balance(person)) - had, promised);
        await settle(() => -part);
        return `redeem ${part}`;
      }
      case "earn":
        await earn(vault, amount);
        return `earn ${amount}`;
      case "lose": {
        const all = await balance(vault.address);
        if (all < 10n) return "lose: nothing";
        const lost = amount % (all / 3n);
        await vault.write(maker, "lose", lost);
        return `lose ${lost}`;
      }
      case "claim": {
        const due = await splitter.read("releasable", token.address, client);
        const [had, feeShares] = [await balance(client), await wrapper.read("balanceOf", splitter.address)];
        const claim = splitter.abi.some((one) => "name" in one && one.name === "release")
          ? splitter.write(maker, "release", token.address, client)
          : splitter.write(maker, "splitRevenue", token.address);
        const isPaid = await claim.then(
          () => true,
          (error) => {
            assert.match(String(error), /NothingDue/);
            return false;
          },
        );
        assert.equal((await balance(client)) - had, isPaid ? due : 0n);
        if (!isPaid) return "claim: nothing";
        const supply = model.supply;
        await settle(() => 0n);
        const burned = feeShares + model.supply - supply;
        model.loss -= (model.loss * burned) / (model.supply + VIRTUAL);
        model.supply -= burned;
        return `claim ${due}`;
      }
      default:
        await token.write(maker, "mint", wrapper.address, amount);
        await wrapper.write(maker, "accrue");
        accrue(model, valueBefore);
        return `gift ${amount}`;
    }
  }

  /** A vault that holds far more than its few shares stand for takes no small deposits; nothing changes then. */
  const isIn = (entering: Promise<void>): Promise<boolean> =>
    entering.then(
      () => true,
      (error) => {
        assert.match(String(error), /DepositWorthLess/);
        return false;
      },
    );

  async function checkInvariants({ vault, wrapper, splitter }: Made, people: Address[], model: Model, place: string) {
    const names = ["totalSupply", "held", "lastValue", "carriedLoss"];
    const [supply, held, lastValue, loss] = await Promise.all(names.map((name) => wrapper.read(name)));
    assert.deepEqual(
      { supply, held, lastValue, loss },
      { supply: model.supply, held: model.held, lastValue: model.lastValue, loss: model.loss },
      place,
    );
    assert.equal(await vault.read("balanceOf", wrapper.address), held, place);
    let owed = 0n;
    for (const person of people) owed += await wrapper.read("maxWithdraw", person);
    const feeShares = (await wrapper.read("balanceOf", splitter.address)) + (await wrapper.read("pendingFeeShares"));
    owed += await wrapper.read("previewRedeem", feeShares);
    assert.ok(owed <= (await wrapper.read("totalAssets")), `${place}: owes ${owed}`);
  }

  /** Of a share, in shares of the vault beneath: a fraction. */
  async function priceOf(wrapper: Contract): Promise<[bigint, bigint]> {
    const [held, supply, pending] = await Promise.all(
      ["held", "totalSupply", "pendingFeeShares"].map((name) => wrapper.read(name)),
    );
    return [(held as bigint) + 1n, (supply as bigint) + (pending as bigint) + VIRTUAL];
  }

  async function stateOf(wrapper: Contract, account: Address) {
    const names = ["held", "totalSupply", "lastValue", "carriedLoss"];
    const own = await Promise.all(names.map((name) => wrapper.read(name)));
    return [...own, await wrapper.read("balanceOf", account), await balance(account)];
  }
});

function assertWithin(actual: bigint, expected: bigint, tolerance: bigint) {
  const difference = actual > expected ? actual - expected : expected - actual;
  assert.ok(difference <= tolerance, `${actual} is not within ${tolerance} of ${expected}`);
}

function assertNotBelow([a, b]: [bigint, bigint], [c, d]: [bigint, bigint], place = "") {
  assert.ok(a * d >= c * b, `${place}: the price fell from ${c}/${d} to ${a}/${b}`);
}
