import { type ContactType, contactOf } from "../../authority/state.ts";
import type { DatabaseKind } from "../../storage/engine.ts";
import { AUTHORITY_TABLES } from "./known.ts";

/**
 * Invariants between the rows of authority. The projector maintains them; a row edited by hand may violate them. Servers rely on them: if a
 * user's row says that they have no MFA policies, none are read.
 */

/** Reads by SQL, from SQLite or PostgreSQL. */
export interface SqlReader {
  readonly kind: DatabaseKind;
  all<Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
}

/** A violated invariant. */
export interface Contradiction {
  /** What is wrong, in the plural. */
  what: string;
  /** The names of some of the rows, such as `<id> of organization <id>`. */
  examples: string[];
}

interface RowRef {
  organization_id: string;
  id: string;
}

/** The number of examples. */
const EXAMPLES = 3;
/** The number of contacts that are compared again here, because databases disagree on lower case. */
const CANDIDATES = 100;

const rules: readonly { what: string; sql: string }[] = [
  {
    what: "users whose row has a wrong number of MFA policies",
    sql: `select u.organization_id, u.id from users u
      where u.mfa_policies <> (select count(*) from mfa_policies m where m.organization_id = u.organization_id and m.user_id = u.id)`,
  },
  {
    what: "organizations whose root quorum requires more members than it has, or none",
    sql: `select o.id as organization_id, o.id from organizations o
      where o.deleted_at is null and (o.quorum_threshold < 1
        or o.quorum_threshold > (select count(*) from root_quorum_members m where m.organization_id = o.id))`,
  },
  {
    what: "users whose row names another parent than that of their organization",
    sql: `select u.organization_id, u.id from users u join organizations o on o.id = u.organization_id
      where u.root_id <> coalesce(o.parent_id, o.id)`,
  },
  {
    what: "users whose verified contact names another parent than that of their organization",
    sql: `select v.organization_id, v.user_id as id from verified_contacts v join organizations o on o.id = v.organization_id
      where v.root_id <> coalesce(o.parent_id, o.id)`,
  },
  {
    what: "API keys whose expiry does not follow from their creation and lifetime",
    sql: `select k.organization_id, k.id from api_keys k
      where coalesce(k.expires_at, 0) <> coalesce(k.created_at + k.expiration_seconds * 1000, 0)`,
  },
  {
    what: "API keys whose public key is not in lowercase, so that no stamp finds it",
    sql: "select k.organization_id, k.id from api_keys k where k.public_key <> lower(k.public_key)",
  },
  {
    what: "tags that are attached to objects of another type than the tag's",
    sql: `select t.organization_id, t.id from tags t
      where (t.type <> 'TAG_TYPE_USER' and exists
          (select 1 from user_tag_members m where m.organization_id = t.organization_id and m.tag_id = t.id))
        or (t.type <> 'TAG_TYPE_PRIVATE_KEY' and exists
          (select 1 from private_key_tag_members m where m.organization_id = t.organization_id and m.tag_id = t.id))`,
  },
  {
    what: "sub-organizations whose parent is a sub-organization itself",
    sql: `select o.id as organization_id, o.id from organizations o join organizations p on p.id = o.parent_id
      where p.parent_id is not null`,
  },
];

/** The violations found, and the checks that failed, with their errors. */
export interface Comparison {
  contradictions: Contradiction[];
  unknown: { what: string; error: unknown }[];
}

/** Checks the rows of authority. A database that only servers have written to has no contradictions. */
export async function compareRows(database: SqlReader): Promise<Comparison> {
  const result: Comparison = { contradictions: [], unknown: [] };
  const look = async (what: string, find: () => Promise<string[]>) => {
    try {
      const examples = await find();
      if (examples.length > 0) result.contradictions.push({ what, examples });
    } catch (error) {
      result.unknown.push({ what, error });
    }
  };
  for (const { what, sql } of rules) {
    await look(what, async () => (await database.all<RowRef>(`${sql} limit ${EXAMPLES}`)).map(nameOf));
  }
  await look("users whose verified contact is not their current one", () => lostContacts(database));
  if (database.kind === "sqlite") await look(ORPHANS, () => tablesWithOrphans(database));
  return result;
}

const ORPHANS = "tables with rows that refer to missing rows";

/** Tables with rows that refer to missing ones. PostgreSQL never allows them; SQLite does for connections without foreign keys enabled. */
async function tablesWithOrphans({ all }: Pick<SqlReader, "all">): Promise<string[]> {
  const found: string[] = [];
  for (const table of AUTHORITY_TABLES) {
    const [orphan] = await all(`select * from pragma_foreign_key_check('${table}') limit 1`);
    if (orphan !== undefined) found.push(table);
  }
  return found;
}

const nameOf = ({ id, organization_id }: RowRef): string => `${id} of organization ${organization_id}`;

async function lostContacts({ all }: Pick<SqlReader, "all">): Promise<string[]> {
  type Row = RowRef & { type: ContactType; contact: string; email: string | null; phone_number: string | null };
  const rows = await all<Row>(
    `select v.organization_id, v.user_id as id, v.type, v.contact, u.email, u.phone_number
      from verified_contacts v join users u on u.organization_id = v.organization_id and u.id = v.user_id
      where (v.type = 'EMAIL' and coalesce(lower(u.email), '') <> v.contact)
        or (v.type = 'PHONE_NUMBER' and coalesce(u.phone_number, '') <> v.contact)
      limit ${CANDIDATES}`,
  );
  const isLost = ({ type, contact, email, phone_number: phone }: Row) => {
    const own = type === "EMAIL" ? email : phone;
    return own === null || contactOf(type, own).value !== contact;
  };
  return rows.filter(isLost).slice(0, EXAMPLES).map(nameOf);
}
