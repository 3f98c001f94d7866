import type { Scope } from "../../src/policy/schema.ts";

/** Makes well-typed expressions, and facts for them, from a row of numbers; where it ends, the simplest choice is taken. */
export interface RandomProgram {
  scope: Scope;
  source: string;
  facts: object;
}

const WORDS = ["A", "a", "W", "0xAb", "0xaB", "0xABCD", "", "5", "8453", "Ünï😀", "Ab", "T1", "T2"];
/** Alike in the letter case of EVM, different in any other. */
const HEX_WORDS = ["0xAb", "0xaB", "0xAB"];
const INTEGERS = [
  ...[0n, 1n, 2n, 5n, -1n, 8453n],
  ...[2n ** 127n - 1n, 2n ** 127n, -(2n ** 127n), 2n ** 255n, 2n ** 256n - 1n],
];

type Kind = "bool" | "int" | "string" | "argument";

/** A list that facts may have: its text, and what its elements are. */
interface ListSource {
  text: string;
  element: Kind | "struct";
  /** For structs: fields by kind, `x` standing for the element. */
  fields?: Partial<Record<Kind, string[]>>;
  lists?: ListSource[];
}

interface Scene {
  fields: Record<Kind, string[]>;
  lists: ListSource[];
}

const wallet = { string: ["x.id", "x.label"], bool: ["x.imported", "x.exported"] };

const CONDITION: Scene = {
  fields: {
    bool: ["wallet.imported", "private_key.exported", "wallet_account.path_hardened[0]"],
    int: [
      ...["eth.tx.value", "eth.tx.chain_id", "eth.tx.nonce", "eth.tx.max_fee_per_gas", "bitcoin.tx.fee"],
      ...["wallet_account.path_indexes[1]", "eth.eip_712.domain.chain_id", "tron.tx.contract[0].amount"],
    ],
    string: [
      ...["activity.type", "activity.kind", "activity.params.type", "eth.tx.to", "eth.tx.data", "eth.tx.function_name"],
      ...["wallet.id", "private_key.id", "wallet_account.address", "secret.static_properties['kind']"],
      ...["solana.tx.static_account_keys[0]", "eth.tx.type", "eth.eip_712.domain.name"],
    ],
    argument: [
      ...["m['a']", "m['b']", "m['c']", "c['a']", "c['b']", "c['a'].b", "m['a']['b']", "m['b'][0]"].map((short) =>
        short.replace("m[", "eth.eip_712.message[").replace("c[", "eth.tx.contract_call_args["),
      ),
      "solana.tx.instructions[0].parsed_instruction_data.program_call_args['a']",
    ],
  },
  lists: [
    { text: "wallet_account.path_indexes", element: "int" },
    { text: "solana.tx.account_keys", element: "string" },
    { text: "private_key.tags", element: "string" },
    { text: "activity.params.user_ids", element: "string" },
    { text: "wallet_account.path_hardened", element: "bool" },
    { text: "eth.tx.contract_call_args['c']", element: "argument" },
    { text: "eth.eip_712.message['d']", element: "argument" },
    { text: "wallets", element: "struct", fields: wallet },
    { text: "solana.tx.transfers", element: "struct", fields: { string: ["x.from", "x.to"], int: ["x.amount"] } },
    {
      text: "solana.tx.instructions",
      element: "struct",
      fields: {
        string: ["x.program_key", "x.parsed_instruction_data.named_account['a']"],
        argument: ["x.parsed_instruction_data.program_call_args['b']"],
      },
      lists: [
        {
          text: "x.accounts",
          element: "struct",
          fields: { string: ["x.account_key"], bool: ["x.signer", "x.writable"] },
        },
      ],
    },
    { text: "tempo.tx.calls", element: "struct", fields: { string: ["x.to", "x.input"] } },
  ],
};

const CONSENSUS: Scene = {
  fields: {
    bool: [],
    int: [],
    string: ["approvers[0].id", "approvers[1].email", "credentials[0].type"],
    argument: [],
  },
  lists: [
    {
      text: "approvers",
      element: "struct",
      fields: { string: ["x.id", "x.email", "x.alias"] },
      lists: [{ text: "x.tags", element: "string" }],
    },
    { text: "credentials", element: "struct", fields: { string: ["x.id", "x.type", "x.public_key", "x.user_id"] } },
  ],
};

export function randomProgram(choices: readonly number[]): RandomProgram {
  let next = 0;
  let names = 0;
  const pick = (count: number): number => (choices[next++] ?? 0) % count;
  const one = <T>(of: readonly T[]): T => of[pick(of.length)] as T;
  const scope: Scope = pick(5) === 4 ? "consensus" : "condition";

  function bool(scene: Scene, depth: number): string {
    if (depth === 0)
      return pick(8) === 7 && scene.fields.bool.length > 0 ? one(scene.fields.bool) : comparison(scene, 0);
    switch (pick(9)) {
      case 0:
        return comparison(scene, depth - 1);
      case 1:
        return one(["true", "false"]);
      case 2:
      case 3:
        return `(${bool(scene, depth - 1)} ${one(["&&", "||"])} ${bool(scene, depth - 1)})`;
      case 4:
        return `!(${bool(scene, depth - 1)})`;
      case 5:
        return quantified(scene, depth, one(["any", "all"]));
      case 6:
        return membership(scene, depth - 1);
      case 7:
        return scene.fields.argument.length > 0 ? `(${one(scene.fields.argument)} && true)` : "true";
      default:
        return `(${bool(scene, depth - 1)}) ${one(["==", "!="])} (${bool(scene, depth - 1)})`;
    }
  }

  function comparison(scene: Scene, depth: number): string {
    switch (pick(6)) {
      case 0:
        return `${text(scene, depth)} ${one(["==", "!="])} ${text(scene, depth)}`;
      case 1:
      case 2:
        return `${integer(scene, depth)} ${one(["==", "!=", "<", "<=", ">", ">="])} ${integer(scene, depth)}`;
      case 3:
        return `${integer(scene, depth)} ${one(["==", "<", ">="])} '${one(["5", "8453", "0", "007"])}'`;
      case 4: {
        const fields = [...scene.fields.string, ...scene.fields.argument].filter((field) => !field.includes("kind"));
        if (fields.length === 0) return "true";
        const sides = [one(fields), `'${one([...HEX_WORDS, "5", "A", "a"])}'`];
        return (pick(2) === 0 ? sides : sides.reverse()).join(one([" == ", " != "]));
      }
      default:
        if (scene.fields.argument.length === 0) return `${text(scene, depth)} == ${literalText()}`;
        return `${one(scene.fields.argument)} ${one(["==", "!="])} ${one([literalText(), literalInteger(), "true"])}`;
    }
  }

  function membership(scene: Scene, depth: number): string {
    const source = one(scene.lists);
    if (pick(2) === 0) {
      const isInteger = pick(3) === 2;
      const sought = isInteger ? integer(scene, depth) : text(scene, depth);
      return `${sought} in [${Array.from({ length: pick(3) }, isInteger ? literalInteger : literalText).join(", ")}]`;
    }
    if (source.element === "struct" || source.element === "bool") return `${source.text}.count() > ${pick(3)}`;
    const sought = source.element === "int" ? literalInteger() : literalText();
    return pick(2) === 0 ? `${sought} in ${source.text}` : `${source.text}.contains(${sought})`;
  }

  function quantified(scene: Scene, depth: number, name: string): string {
    const source = one(scene.lists);
    const variable = `v${names++}`;
    const rename = (short: string): string => short.replace(/^x\b/, variable);
    const fields = structuredClone(scene.fields);
    if (source.element === "struct") {
      for (const [kind, texts] of Object.entries(source.fields ?? {})) {
        fields[kind as Kind] = [...texts.map(rename), ...fields[kind as Kind].slice(0, 1)];
      }
    } else {
      fields[source.element] = [variable, variable, ...fields[source.element]];
    }
    const inner = (source.lists ?? []).map((nested) => ({ ...nested, text: rename(nested.text) }));
    return `${source.text}.${name}(${variable}, ${bool({ fields, lists: [...inner, ...scene.lists] }, depth - 1)})`;
  }

  function integer(scene: Scene, depth: number): string {
    switch (pick(depth > 0 ? 5 : 3)) {
      case 0:
        return literalInteger();
      case 1:
      case 2:
        return scene.fields.int.length > 0 ? one(scene.fields.int) : `${one(scene.lists).text}.count()`;
      case 3:
        return `${one(scene.lists).text}.${one(["count()", "count", "filter(q, true).count()"])}`;
      default:
        return `${quantified(scene, depth, "filter")}.count()`;
    }
  }

  function text(scene: Scene, depth: number): string {
    switch (pick(depth > 0 ? 5 : 3)) {
      case 0:
        return scene.fields.string.length > 0 ? one(scene.fields.string) : literalText();
      case 1:
        return literalText();
      case 2:
        return scene.fields.string.length > 0 ? one(scene.fields.string) : literalText();
      case 3:
        return `${text(scene, 0)}[${pick(3)}..${pick(6)}]`;
      default:
        return `${text(scene, 0)}[${pick(4) - 1}]`;
    }
  }

  const literalText = (): string => `'${one(WORDS)}'`;
  const literalInteger = (): string => String(one(INTEGERS));

  // Facts: each may be missing, and what is there is from the same words and integers.

  const word = (): string => (pick(3) === 0 ? one(HEX_WORDS) : one(WORDS));
  const number = (): bigint | number => (pick(2) === 0 ? one(INTEGERS) : 4 + pick(2));
  const flag = (): boolean => pick(2) === 0;
  const many = <T>(make: () => T): T[] => Array.from({ length: pick(4) }, make);
  const maybe = <T>(make: () => T): T | undefined => (pick(6) === 5 ? undefined : make());
  const argument = (depth = 2): unknown => {
    switch (pick(depth > 0 ? 7 : 4)) {
      case 0:
        return word();
      case 1:
        return number();
      case 2:
        return flag();
      case 3:
        return pick(12) === 0 ? 1.5 : word();
      case 4:
      case 5:
        return many(() => argument(depth - 1));
      default:
        return { a: argument(depth - 1), b: argument(depth - 1) };
    }
  };
  const argumentsOf = () => ({
    a: argument(),
    b: argument(),
    c: pick(3) === 0 ? argument() : many(() => argument(1)),
    d: many(() => argument(0)),
  });
  const walletFacts = () => ({ id: word(), imported: flag(), exported: flag(), label: word(), tags: many(word) });

  const conditionFacts = (): object => ({
    activity: { type: word(), kind: maybe(word), params: maybe(() => ({ type: maybe(word), user_ids: many(word) })) },
    eth: maybe(() => ({
      tx: maybe(() => ({
        to: word(),
        data: word(),
        value: number(),
        chain_id: number(),
        nonce: pick(9),
        max_fee_per_gas: maybe(number),
        type: word(),
        function_name: maybe(word),
        contract_call_args: maybe(argumentsOf),
      })),
      eip_712: maybe(() => ({ domain: { name: maybe(word), chain_id: maybe(number) }, message: argumentsOf() })),
    })),
    solana: maybe(() => ({
      tx: {
        account_keys: many(word),
        transfers: many(() => ({ from: word(), to: word(), amount: pick(9) })),
        instructions: many(() => ({
          program_key: word(),
          accounts: many(() => ({ account_key: word(), signer: flag(), writable: flag() })),
          parsed_instruction_data: maybe(() => ({ named_accounts: { a: word() }, program_call_args: argumentsOf() })),
        })),
      },
    })),
    tron: maybe(() => ({ tx: { contract: many(() => ({ amount: maybe(number) })) } })),
    bitcoin: maybe(() => ({ tx: { fee: number() } })),
    tempo: maybe(() => ({ tx: { calls: many(() => ({ to: word(), input: word() })) } })),
    wallet: maybe(walletFacts),
    wallets: maybe(() => many(walletFacts)),
    private_key: maybe(walletFacts),
    wallet_account: maybe(() => ({ address: word(), path_indexes: many(() => pick(9)), path_hardened: many(flag) })),
    secret: maybe(() => ({ static_properties: pick(2) === 0 ? { kind: word() } : {} })),
  });
  const consensusFacts = (): object => ({
    approvers: many(() => ({ id: word(), tags: many(word), email: maybe(word), alias: word() })),
    credentials: many(() => ({ id: word(), user_id: word(), type: word(), public_key: maybe(word) })),
  });

  const source = bool(scope === "condition" ? CONDITION : CONSENSUS, 1 + pick(4));
  return { scope, source, facts: scope === "condition" ? conditionFacts() : consensusFacts() };
}
