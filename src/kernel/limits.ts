import { DAY_MS, HOUR_MS, MINUTE_MS, WEEK_MS } from "./durations.ts";

/** All bounds of the service that a client can meet. The guide for operators is docs/guide/limits.md. */

/** Largest request body, in bytes. Larger than any valid field, so that the error for an oversized field can name the field. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** Largest stamp header, in bytes. A WebAuthn stamp with a long user handle takes less than 4 KiB. */
export const MAX_STAMP_BYTES = 16 * 1024;
/** Longest WebAuthn credential ID in bytes (WebAuthn Level 3, section 4). */
export const MAX_CREDENTIAL_ID_BYTES = 1023;
/** Characters in each part of an authenticator's attestation. A part with a certificate chain takes less than 8 KiB. */
export const MAX_ATTESTATION_LENGTH = 64 * 1024;
/** All headers of a request together, in bytes. If there are more, the server answers with an error and closes the connection. */
export const MAX_HEADER_BYTES = 128 * 1024;
/** How long a client may take to send a request's headers. After that the connection is closed. */
export const HEADER_TIMEOUT_MS = 10_000;
/** How long a client may take to send a whole request. After that the connection is closed. */
export const REQUEST_TIMEOUT_MS = 30_000;
/** How long a connection may stay open without a request. Longer than the minute after which load balancers close unused connections. */
export const IDLE_TIMEOUT_MS = 72_000;
/**
 * Requests that a client may pipeline on a connection. They are processed one after the other. If there are more, or another one after bodies
 * of more than `SMALL_MESSAGE_BYTES` together, the connection is closed.
 */
export const MAX_PIPELINED_REQUESTS = 16;
/** How long a client may take to read an answer, in addition to the time that the rest of it needs at `MIN_ANSWER_BYTES_PER_SECOND`. */
export const ANSWER_GRACE_MS = 10_000;
/** The slowest pace at which a client may read an answer. A slower connection is closed. */
export const MIN_ANSWER_BYTES_PER_SECOND = 32 * 1024;
/**
 * Request bodies held in memory at one time, in bytes. Bodies up to `SMALL_MESSAGE_BYTES` are not counted. Beyond it, requests are refused.
 */
export const MAX_HELD_BODY_BYTES = 128 * 1024 * 1024;
/** Answers being sent at one time, in bytes. Answers up to `SMALL_MESSAGE_BYTES` are not counted. Beyond it, requests are refused. */
export const MAX_HELD_ANSWER_BYTES = 128 * 1024 * 1024;
/** The part of `MAX_HELD_BODY_BYTES` and of `MAX_HELD_ANSWER_BYTES` that one address may use. */
export const MAX_SHARE_OF_ONE_ADDRESS = 1 / 4;
/** Bodies and answers up to this size, in bytes, are not counted as held: the bound on connections bounds them. */
export const SMALL_MESSAGE_BYTES = 64 * 1024;
/**
 * Pieces in which the body of a request may arrive: chunks of a chunked body, or what is read from the connection at a time. One more is
 * accepted for each `BYTES_PER_PIECE` bytes, fewer than the smallest packets carry. Beyond it, the request is refused and its connection
 * closed.
 */
export const MAX_BODY_PIECES = 1024;
export const BYTES_PER_PIECE = 256;
/** Rate limits count a body as one request, and as one more for each of this many bytes. */
export const BYTES_PER_TOKEN = 64 * 1024;
/** How many seconds' worth of its rate a client may send at once after a pause. */
export const RATE_BURST_SECONDS = 10;
/**
 * Organizations, credentials and addresses whose requests are counted for rate limits. Beyond it, the least recently used are forgotten.
 */
export const MAX_RATE_BUCKETS = 10_000;
/** Stamps of one credential from one address that are verified at a time. Further ones wait. */
export const MAX_IDENTIFICATIONS_OF_ONE_SENDER = 64;
/** Requests of one organization that are processed at a time. Further ones wait, without delaying those of other organizations. */
export const MAX_REQUESTS_OF_ONE_ORGANIZATION = 128;
/** Requests of each organization that are always processed, even while a setting bounds those of all active organizations together. */
export const REQUESTS_THAT_NEVER_WAIT = 4;
/**
 * A request that takes longer than this many milliseconds, while others were answered, no longer counts as one being processed: it waits
 * for something that others do not, and delays nobody.
 */
export const SHARED_REQUEST_COUNTED_MS = 100;
/** An organization counts as active for this many milliseconds and answers (to anybody) after a request, and for up to twice that. */
export const OTHERS_REMEMBERED_MS = 250;
export const OTHERS_REMEMBERED_ANSWERS = 64;
/** Levels of nested objects and arrays in a JSON body. */
export const MAX_JSON_DEPTH = 64;
/** Values in a JSON body: members of objects and entries of arrays, at every level. Checking each takes time. */
export const MAX_JSON_VALUES = 100_000;
/** Members of one object in a JSON body. Lists take time in proportion to their length, objects take more. */
export const MAX_JSON_MEMBERS = 1000;
/** Distinct member names in a JSON body, as written. Nothing else takes a parser as long, and no other request is processed meanwhile. */
export const MAX_JSON_NAMES = 20_000;
/** A body of more bytes than this is parsed in steps, so that other requests are processed in between. */
export const LARGE_JSON_BYTES = 64 * 1024;

/** How old the `timestampMs` of a request may be. An older request is refused. */
export const MAX_REQUEST_AGE_MS = HOUR_MS;
/** How far in the future the `timestampMs` of a request may be. A later one is refused. */
export const MAX_CLOCK_AHEAD_MS = 5 * MINUTE_MS;
/** Equal sign-ups within this time, or up to twice this time, are one activity. */
export const EQUAL_ACTIVITIES_MS = 2 * MINUTE_MS;
/** Equal sign-ups that failed, or whose sub-organization no longer exists, that are skipped to find the current one. */
export const MAX_EQUAL_ACTIVITIES = 8;
/** How long a vote counts. Later decisions ignore it. */
export const VOTE_LIFETIME_MS = DAY_MS;

/** Characters in a name that people choose, such as that of a key, user, tag or organization. */
export const MAX_LABEL_LENGTH = 255;
/** Entries in a list of a request, if no narrower limit applies. */
export const MAX_LIST_LENGTH = 1000;
/** Characters in a payload to sign. */
export const MAX_PAYLOAD_LENGTH = 512 * 1024;
/** Characters in EIP-712 typed data. The server hashes it, which takes longer the more structs it contains. */
export const MAX_TYPED_DATA_LENGTH = 64 * 1024;
/** Payloads in one sign_raw_payloads. */
export const MAX_PAYLOADS = 100;
/** Signatures in one spark_sign_frost. */
export const MAX_SPARK_SIGNATURES = 600;
/** Leaves in one transfer or claim on Spark. */
export const MAX_SPARK_LEAVES = 200;
/** Operators that get packages of one Spark request, or that commit to one signature. */
export const MAX_SPARK_OPERATORS = 64;
/** Characters in the identifier of a Spark operator. */
export const MAX_OPERATOR_ID_LENGTH = 255;
/** Bytes in the signature of a Spark refund. */
export const MAX_REFUND_SIGNATURE_BYTES = 256;
/** Bytes of all packages of one activity together. They grow with the leaves and with the square of the operators. */
export const MAX_SPARK_PACKAGES_BYTES = 2 * 1024 * 1024;
/** Struct types in one EIP-712 payload, including the domain. */
export const MAX_TYPED_DATA_TYPES = 64;
/** Characters in the definitions of all struct types of one EIP-712 payload together. The hash of a type covers every type it refers to. */
export const MAX_TYPED_DATA_TYPES_LENGTH = 64 * 1024;
/**
 * Blocks of Keccak-256 (136 bytes each, about 4 microseconds each) needed to hash all EIP-712 payloads of a request. Each struct, list and
 * text takes at least one; each type takes its own definition and those of all types it refers to.
 */
export const MAX_TYPED_DATA_BLOCKS = 5000;

/** Bytes in a PSBT. A legacy input contains the whole transaction that it spends. */
export const MAX_PSBT_BYTES = 1024 * 1024;
/** Bytes in the unsigned transaction of a PSBT. Each weighs four units, so this is the largest transaction that nodes relay. */
export const MAX_UNSIGNED_BITCOIN_BYTES = 100_000;
/** Inputs of a PSBT. Signing a legacy input hashes all other inputs again. */
export const MAX_PSBT_INPUTS = 1000;
/** Records in all maps of a PSBT together. */
export const MAX_PSBT_RECORDS = 20_000;
/** Bytes in a Tron transaction's `raw_data`. The network accepts at most 500 KiB for the whole transaction. */
export const MAX_TRON_BYTES = 500 * 1024;
/** Bytes in a Solana transaction: the most that fits into one packet of its network. */
export const MAX_SOLANA_TRANSACTION_BYTES = 1232;
/** Values decoded from one Solana instruction, including lists and structs. An instruction with more is not decoded. */
export const MAX_BORSH_VALUES = 2048;
/** Levels of nesting decoded in one Solana instruction. An instruction with more is not decoded. */
export const MAX_BORSH_DEPTH = 64;
/** Bytes in one unsigned EVM or Tempo transaction. Nodes do not accept larger ones into their pools. */
export const MAX_EVM_TRANSACTION_BYTES = 128 * 1024;
/** Byte strings and lists in one RLP encoding. */
export const MAX_RLP_ITEMS = 16_384;
/** Levels of nested lists in one RLP encoding. */
export const MAX_RLP_DEPTH = 16;
/** Functions in one smart contract interface. */
export const MAX_CONTRACT_FUNCTIONS = 2000;
/** Array dimensions of one type in a contract's interface. */
export const MAX_ABI_DIMENSIONS = 16;
/** Array dimensions of all types in a contract's interface, plus the lists in its JSON. */
export const MAX_ABI_LISTS = 20_000;
/** Characters in an address that a request names. */
export const MAX_ADDRESS_LENGTH = 1024;
/** Levels of a derivation path below `m`. */
export const MAX_PATH_LEVELS = 10;

/** Quotas of an organization, unless its operator sets others. They also bound how many one request may create. */
export const MAX_USERS = 100;
export const MAX_PRIVATE_KEYS = 1000;
export const MAX_WALLETS = 100;
/** The highest quota that an operator can set for these. One answer lists all of them. */
export const HIGHEST_USERS = 1000;
export const HIGHEST_PRIVATE_KEYS = 10_000;
export const HIGHEST_WALLETS = 10_000;
/** The highest quota that an operator can set. The server counts sub-organizations each time one is added. */
export const HIGHEST_SUB_ORGANIZATIONS = 100_000;
/** The highest quota that an operator can set. Each server counts an organization's activities once. */
export const HIGHEST_ACTIVITIES_PER_MONTH = 10_000_000;
/** The highest quota that an operator can set. Counting bytes reads the rows. */
export const HIGHEST_ACTIVITY_BYTES_PER_MONTH = 100_000_000_000;
/** Organizations that `keystead organizations list` prints at most. */
export const MAX_LISTED_ORGANIZATIONS = 10_000;
/** The largest difference between the clocks of a server and its database that is accepted, and how often a server compares them. */
export const MAX_CLOCKS_APART_MS = 2_000;
export const CLOCK_LOOK_MS = 30_000;
/** How long after a comparison during which its clock was set a server compares the clocks again. */
export const CLOCK_LOOK_AGAIN_MS = 1000;
/** How often a server checks for commands of operators, and how often it records in the database that it is alive. */
export const SERVER_LOOK_MS = 1000;
export const SERVER_SIGN_MS = 10_000;
/** How long after its last sign of life a server counts as alive, and how long a dead server is remembered. */
export const SERVER_ALIVE_MS = 30_000;
export const SERVER_FORGOTTEN_MS = WEEK_MS;
/** How long a command of an operator waits for the servers to confirm that they have received it. */
export const SERVER_TOLD_DEADLINE_MS = 15_000;
/** How long a server caches an organization's quotas and its counts of activities. */
export const QUOTA_KEPT_MS = 1000;
/** Activities that one query counts for a quota. */
export const COUNTED_ACTIVITIES_AT_ONCE = 10_000;
/** Activities that one query counts for a quota of bytes, which reads the rows. */
export const SIZED_ACTIVITIES_AT_ONCE = 2000;
/** After this time an activity is certainly stored, unless a struggling database delayed its transaction. */
export const SETTLED_ACTIVITY_MS = 15_000;
/** Rows that one transaction adds to the counts per day. More only if they have the same millisecond. */
export const COUNTED_ROWS_AT_ONCE = 1000;
/** Organizations that one query checks for deleted ones that still have counts per day. */
export const ORGANIZATIONS_LOOKED_AT_AT_ONCE = 500;
/** How many days counts per day are kept, and how many days one answer contains. */
export const DAYS_COUNTED = 400;
export const MAX_DAYS_TOLD = 90;
/** Accounts of a wallet that one request creates. A wallet may have any number. */
export const MAX_ACCOUNTS_PER_REQUEST = 100;
/** Of each kind in an organization. Beyond it, further ones are refused. */
export const MAX_TAGS = 100;
export const MAX_POLICIES = 100;
export const MAX_SESSION_PROFILES = 100;
/** Of each user. Beyond it, further ones are refused. */
export const MAX_MFA_POLICIES_PER_USER = 20;
/** Groups of methods in one MFA policy, and methods in one group. */
export const MAX_MFA_METHODS = 10;
/** Rules in one IP allowlist. */
export const MAX_IP_RULES = 10;
/** Shortest prefix of an allowlist's rule, by address family. */
export const MIN_IP_RULE_PREFIX = { 4: 20, 6: 48 } as const;
/**
 * Entries of an X-Forwarded-For header that are read, from the right. If all of them are trusted proxies, the client's address is unknown.
 */
export const MAX_FORWARDED_ADDRESSES = 32;
/** Open invitations of an organization: those not accepted, revoked or expired. */
export const MAX_OPEN_INVITATIONS = 100;
/** How long an invitation can be accepted. */
export const INVITATION_LIFETIME_MS = WEEK_MS;
/** Of an organization. Beyond it, further ones are refused. */
export const MAX_SMART_CONTRACT_INTERFACES = 1000;
/** Bytes in the JSON of one smart contract interface (UTF-8). */
export const MAX_SMART_CONTRACT_INTERFACE_BYTES = 400 * 1024;
/** Bytes in all smart contract interfaces of an organization together, because one answer lists all of them. */
export const MAX_SMART_CONTRACT_INTERFACES_BYTES = 16 * 1024 * 1024;
/** Cache of parsed interfaces, by number and by bytes of memory. Contracts and programs have one each. */
export const MAX_CACHED_INTERFACES = 1000;
export const MAX_CACHED_INTERFACE_BYTES = 32 * 1024 * 1024;
/** Sub-organizations, the most senior first, that are searched for the holder of a credential if a request does not name one. */
export const MAX_HOLDERS = 16;
/** Stamps on an activity by tokens for the same contact or provider of a user, each bound to another key. Only the newest are kept. */
export const MAX_ATTESTATIONS = 4;
/** Stamps of a user on an activity in addition to their vote, by any credentials. Only the newest are kept. */
export const MAX_FURTHER_STAMPS = 40;
/** Records of a credential's first use that are waiting for their commit. Beyond it, the next use is recorded instead. */
export const MAX_OPEN_FIRST_USES = 1000;
/** Credentials of a user, by kind. Beyond it, further ones are refused; API keys that expire replace expired ones, then the oldest. */
export const MAX_AUTHENTICATORS_PER_USER = 10;
export const MAX_LASTING_API_KEYS_PER_USER = 10;
export const MAX_EXPIRING_API_KEYS_PER_USER = 10;
export const MAX_OAUTH_PROVIDERS_PER_USER = 10;
/** OAuth 2.0 credentials of an organization. */
export const MAX_OAUTH2_CREDENTIALS = 25;
/** Fiat on-ramp credentials of an organization. */
export const MAX_ON_RAMP_CREDENTIALS = 25;

/** Selectors of a policy in the older versions of create_policy. They become one expression, and each adds to its depth. */
export const MAX_SELECTORS = 32;
/** Characters in one policy expression (UTF-16 code units). */
export const MAX_POLICY_LENGTH = 16 * 1024;
/** Characters in all policy expressions of an organization together. Each request evaluates all of them. */
export const MAX_POLICIES_LENGTH = 256 * 1024;
/** Levels of nesting in a policy expression. */
export const MAX_POLICY_DEPTH = 64;
/** Steps that one evaluation of a policy expression may take. Each list element visited and each list entry compared is a step. */
export const MAX_POLICY_STEPS = 100_000;
/** Sets of further approvals that are tried for one policy before the search for a set that satisfies it is cut short. */
export const MAX_CONSENSUS_TRIALS = 2_000;
/** Steps that trying sets of further approvals may take in one decision, over all policies. */
export const MAX_CONSENSUS_STEPS = 300_000;
/** Steps that explaining the outcomes of policies may take in one decision. Further policies get no explanation. */
export const MAX_EXPLANATION_STEPS = 100_000;
/** Steps of all evaluations for one decision, or inside one transaction, during which others wait. */
export const MAX_DECISION_STEPS = 600_000;
/** Steps of all evaluations for one request. */
export const MAX_REQUEST_STEPS = 4_000_000;
/** Time zones cached in memory. There are about 600 names. */
export const MAX_TIME_ZONES = 700;
/** Cache of compiled policy expressions, by number and by bytes of memory. */
export const MAX_CACHED_EXPRESSIONS = 20_000;
export const MAX_CACHED_EXPRESSION_BYTES = 128 * 1024 * 1024;
/** Columns of expressions' values cached for one list of policies. A column has up to `MAX_POLICIES` values. */
export const MAX_REMEMBERED_COLUMNS = 64;
/** Classes of activities and approvers for which the outcomes of all policies in one list are cached. */
export const MAX_REMEMBERED_DECISIONS = 8;
/** Cache of users as the API shows them, by number and by bytes of their JSON. */
export const MAX_CACHED_USERS = 10_000;
export const MAX_CACHED_USER_BYTES = 64 * 1024 * 1024;
/** Cache of IP allowlists with parsed blocks, by number and by bytes of their JSON. */
export const MAX_CACHED_ALLOWLISTS = 1000;
export const MAX_CACHED_ALLOWLIST_BYTES = 4 * 1024 * 1024;
/** Cache of filters of webhook subscriptions, by number and by bytes of their JSON. */
export const MAX_CACHED_FILTERS = 1000;
export const MAX_CACHED_FILTER_BYTES = 4 * 1024 * 1024;
/** Cache of organizations' policies, and of lists of policies that are known to be stored, by number of lists. */
export const MAX_REMEMBERED_POLICY_LISTS = 10_000;
/** Cache of the last list of policy ids of each organization. A list takes about 5 kB. */
export const MAX_KEPT_POLICY_LISTS = 1000;
/** Cache of organizations' policies, by bytes, including cached values and outcomes. */
export const MAX_REMEMBERED_POLICIES_BYTES = 128 * 1024 * 1024;

/** Bytes in an imported mnemonic with its passphrase. 24 words take less than 1 KiB in every language. */
export const MAX_MNEMONIC_BYTES = 4096;
/** Bytes in an imported secret. */
export const MAX_SECRET_BYTES = 64 * 1024;
/** Secrets that one request imports or exports. An activity's result is stored with it. */
export const MAX_SECRETS_PER_REQUEST = 10;
/** Secrets that one request deletes. */
export const MAX_DELETED_SECRETS_PER_REQUEST = 32;
/** Secrets of an organization. */
export const MAX_SECRETS = 1000;
/** Static properties of a secret, and entries of the `requestContext` of an export. */
export const MAX_SECRET_PROPERTIES = 32;
/** Characters in the value of a secret's property, or of an entry of the `requestContext`. */
export const MAX_SECRET_PROPERTY_LENGTH = 1024;
/** How long after its initialization an import is accepted. */
export const IMPORT_KEY_LIFETIME_MS = DAY_MS;
/** Open import keys of one user, counted separately for secrets and for everything else. Beyond it, the oldest are removed. */
export const MAX_IMPORT_KEYS = 20;

/** Bytes in a request that asks for app proofs, and in each vote on it. Proofs contain the stamped bodies. */
export const MAX_PROVEN_BODY_BYTES = 64 * 1024;
/** Bytes of all approvals in one proof together, in their form in the proof. */
export const MAX_PROVEN_STATEMENT_BYTES = 1024 * 1024;
/** Addresses that are proved for one activity. The signer makes a signature for each. */
export const MAX_PROVEN_ADDRESSES = 100;
/** How many times the proof of an activity is prepared again because the organization changed meanwhile. Then the request fails. */
export const MAX_PREPARATIONS = 8;

/** Bytes in the body of a denied activity that is stored whole. */
export const MAX_DENIED_BODY_BYTES = 16 * 1024;
/** Characters stored of the beginning of a larger denied body. */
export const MAX_DENIED_MESSAGE_LENGTH = 4096;
/** Characters stored of each text in the intent of a larger denied body. */
export const MAX_DENIED_TEXT_LENGTH = 256;
/** Entries stored of each list in the intent of a larger denied body. */
export const MAX_DENIED_LIST_LENGTH = 4;
/** Characters stored of each text in an intent that is still too large after that. Of each list, one entry is stored. */
export const MIN_DENIED_TEXT_LENGTH = 16;
/** Denied activities of one organization that are stored, per hour and at once. */
export const DENIALS_OF_ONE_ORGANIZATION = { perHour: 1000, burst: 2000 } as const;
/** Denied activities of one user that are stored, per hour and at once. */
export const DENIALS_OF_ONE_USER = { perHour: 500, burst: 500 } as const;
/**
 * Users whose votes on an activity are stored, including deleted ones: as many as an organization can have. Further approvals are refused.
 */
export const MAX_VOTES = 1000;
/** Bytes in the body of approve_activity and reject_activity. Each body is stored with the activity. */
export const MAX_VOTE_BODY_BYTES = 4096;
/** Characters in all messages of the votes on an activity together, if a vote is cast by sending the activity's body again. */
export const MAX_VOTE_MESSAGES_LENGTH = 8 * 1024 * 1024;

/** Stored bytes that requests read at one time to answer. Small ones are not counted, and a larger one is read alone. Further ones wait. */
export const MAX_READ_BYTES = 32 * 1024 * 1024;
/** Stored bytes that requests of one organization read at one time to answer. */
export const MAX_READ_BYTES_OF_ONE_ORGANIZATION = 8 * 1024 * 1024;
/** Attempts of a webhook delivery that a query shows: the newest. */
export const MAX_SHOWN_ATTEMPTS = 100;
/** Evaluations of policies for one activity that a query shows: the newest. */
export const MAX_SHOWN_EVALUATIONS = 500;
/** Stored bytes of the activities on one page of list_activities. The first activity is shown regardless of its size. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** Objects on one page of a list query: at most, and by default. */
export const MAX_PAGE_SIZE = 100;
export const DEFAULT_PAGE_SIZE = 10;
/** Characters in the cursor of a list query. */
export const MAX_CURSOR_LENGTH = 256;

/** Answers that one transaction caches for identical queries, and rows of one such answer. */
export const MAX_KEPT_ANSWERS = 1000;
export const MAX_KEPT_ROWS = 100;
/** Cached answers that are queried again immediately when one statement invalidates them. If there are more, none are. */
export const MAX_ASKED_ANEW = 8;
/** Parts of the authority's state that the functions of one transaction share. Beyond it, they are loaded again. */
export const MAX_KNOWN_PARTS = 10_000;
/** Answers about credentials, users and keys that a server on SQLite caches until they change, by number and by approximate bytes. */
export const MAX_KEPT_READS = 20_000;
export const MAX_KEPT_READ_BYTES = 16 * 1024 * 1024;
/** How long a request may wait for its durable commit. After that it fails. */
export const COMMIT_DEADLINE_MS = 15_000;
/** How long work that a database outage interrupted is retried. Once an outage has lasted this long, requests fail immediately. */
export const OUTAGE_PATIENCE_MS = 5_000;
/** Rows of an organization that SQLite deletes at a time, at about 12 microseconds each, if their number is unbounded. */
export const MAX_DELETED_ROWS = 500;
/** Accounts that SQLite deletes with their wallets in one request. No other write proceeds meanwhile. Beyond it, the request is refused. */
export const MAX_ACCOUNTS_WITH_WALLETS = 50_000;
/**
 * Rows of one table that are deleted in the same transaction as their sub-organization or webhook endpoint. If there are more, a job erases
 * them afterwards.
 */
export const MAX_ERASED_AT_ONCE = 5000;
/** How long one run of a job that erases rows takes, and the pause before the next run. */
export const ERASURE_RUN_MS = 1000;
export const ERASURE_PAUSE_MS = 50;
/** The `Retry-After` of reads of a sub-organization that is being erased. */
export const ERASURE_RETRY_SECONDS = 5;
/** Requests that wait for a connection to PostgreSQL. Further ones are refused immediately. */
export const MAX_DATABASE_WAITING = 10_000;
/** How long a transaction waits for another process that writes to the same SQLite file. */
export const SQLITE_LOCK_DEADLINE_MS = 5_000;
/** How often the server checks, in addition to each commit, whether the files of a SQLite database are still in place. */
export const FILE_WATCH_MS = 250;
/** How long a check of the database's health may take. */
export const HEALTH_DEADLINE_MS = 600;
/** How long the result of a check of the database's health is cached. */
export const HEALTH_LIFETIME_MS = 250;
/** How long `keystead doctor` waits for a connection to the database, and for each answer of the database. */
export const INSPECTION_DEADLINE_MS = 5_000;
/** The largest SQLite file that `keystead doctor` reads whole to look for damage. */
export const MAX_EXAMINED_FILE_BYTES = 1024 ** 3;
/** How long `keystead doctor` waits for each step of a mail server, a node or the public URL. */
export const DOCTOR_STEP_MS = 15_000;
/** How long each check of `keystead doctor` may take as a whole. */
export const DOCTOR_CHECK_MS = MINUTE_MS;
/** `keystead doctor` compares the rows of the authority with the activities only if no more completed activities than this affect them. */
export const MAX_DOCTOR_ACTIVITIES = 50_000;
/** `keystead doctor` compares the rows of the authority with the activities only if there are no more activities of any kind than this. */
export const MAX_DOCTOR_ACTIVITIES_IN_ALL = 200_000;
/** How long `keystead doctor` compares the rows of the authority with the activities before it gives up. */
export const DOCTOR_PROVENANCE_MS = 30_000;
/** Claims of the authority's rows that are compared with the activities at one time. Each such comparison reads all activities. */
export const MAX_AUTHORITY_CLAIMS = 200_000;
/**
 * Rows on one page when the rows of the authority are compared with the activities, and rows on a page of those that may be large:
 * activities and contract interfaces.
 */
export const AUTHORITY_ROWS_AT_ONCE = 1_000;
export const AUTHORITY_LARGE_ROWS_AT_ONCE = 50;
/** Activities of any kind that are searched for one page of those that affect the authority. */
export const AUTHORITY_STRETCH = 20_000;
/** Bytes in a file that contains one secret of the configuration. */
export const MAX_SECRET_FILE_BYTES = 64 * 1024;
/** How long `keystead status` waits for each answer of a server, and the largest answer, in bytes. */
export const STATUS_DEADLINE_MS = 5_000;
export const MAX_STATUS_BYTES = 1024 * 1024;
/** Jobs in one state that are counted for the metrics. There may be more. */
export const MAX_COUNTED_JOBS = 10_000;
/** Failing webhook endpoints that are counted for the metrics. There may be more. */
export const MAX_COUNTED_ENDPOINTS = 10_000;
/** Lines that `keystead jobs lanes` and `keystead webhooks failing` print at most. */
export const MAX_LISTED_LANES = 1000;
/** Deliveries of each endpoint that `keystead webhooks failing` searches for the last attempt. */
export const FAILING_ENDPOINT_DELIVERIES = 20;
/** How long writes count as failing after the database caused one to fail. */
export const FAILED_WRITE_MS = 750;
/** If the disk has less space than this, a SQLite database counts as full. A commit of many changes may need this much. */
export const SQLITE_LEAST_FREE_BYTES = 4 * 1024 * 1024;
/**
 * Open files needed besides those for connections: database, outbound requests, files being written. If the system allows fewer, a server
 * warns at startup.
 */
export const OPEN_FILES_BESIDE_CONNECTIONS = 512;
/** If a folder for writing has less free space than this, `keystead doctor` warns. */
export const LOW_ROOM_BYTES = 1024 ** 3;
/** If a folder for writing has less free space than this, a check of `keystead doctor` fails. */
export const NO_ROOM_BYTES = 64 * 1024 * 1024;
/** How long the signer may work on one request, and how long it may be silent while it has work. Then the server restarts it. */
export const SIGNER_DEADLINE_MS = 10_000;
/** How long a signer may take from its start to its first sign of life. */
export const SIGNER_START_MS = MINUTE_MS;
/** Requests of one organization that wait for the signer. Further ones are refused. */
export const MAX_SIGNER_WAITING = 1000;
/**
 * Cost of one organization's requests that wait for the signer, in units of `signer/cost.ts`. The signer does about ten units in a
 * millisecond.
 */
export const MAX_SIGNER_WAITING_COST = 150_000;
/** Cost of all requests that wait for the signer. Beyond it, each organization may have one request waiting. */
export const MAX_SIGNER_WAITING_COST_IN_ALL = 600_000;
/** Cost of one organization's requests that the signer has at one time. A single request may cost more. */
export const MAX_SIGNER_WINDOW_COST = 128;
/** Requests that the signer has at one time. */
export const MAX_SIGNER_WINDOW = 1000;
/** Largest frame between server and signer, in bytes. It fits a body twice in JSON, plus the payloads to sign. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** How long a stopping server waits for open requests. */
export const DRAIN_DEADLINE_MS = 10_000;
/** How long a stopping server then waits for running jobs. */
export const JOB_STOP_DEADLINE_MS = 5000;

/** Characters in a URL that the service calls on behalf of an organization. */
export const MAX_URL_LENGTH = 2048;
/** All headers of the answer to an outbound request together, in bytes. */
export const MAX_ANSWER_HEADER_BYTES = 16 * 1024;
/**
 * Pieces in which the body of the answer to an outbound request may arrive, and one more for each `BYTES_PER_PIECE` bytes. Some servers send
 * an answer as they write it, value by value.
 */
export const MAX_ANSWER_PIECES = 16_384;
/** Interim answers (1xx) to one outbound request, one request that is forwarded to an app, or one health check of a program. */
export const MAX_INTERIM_ANSWERS = 32;
/** TLS session tickets that a host may send on one outbound connection. Most send two. */
export const MAX_SESSION_TICKETS = 32;
/** Open outbound connections to one host and port. Further requests wait. */
export const MAX_CONNECTIONS_PER_HOST = 8;
/** Open outbound connections of one scheme. Further requests wait. */
export const MAX_CONNECTIONS = 128;
/** Webhook endpoints to which one process delivers at a time. Fewer than its job workers, of which there are as many as connections. */
export const MAX_WEBHOOK_LANES = 96;
/**
 * Webhook endpoints of all sub-organizations of one parent to which one process delivers at a time. For a single organization, the bound is
 * `MAX_CONNECTIONS_PER_HOST`.
 */
export const MAX_WEBHOOK_LANES_BELOW_ONE_PARENT = 24;
/** Lanes of mail that one process runs at a time: connections to the mail server. A parent with its sub-organizations has four lanes. */
export const MAX_MAIL_LANES = 16;
/** Those of them whose last attempt took `SLOW_MESSAGE_MS` or longer, of all parents and of one. */
export const MAX_SLOW_MAIL_LANES = 8;
export const MAX_SLOW_MAIL_LANES_OF_ONE_PARENT = 2;
/** The same for text messages, of which there are as many at a time as connections to their gateway. */
export const MAX_SLOW_SMS_LANES = 4;
export const MAX_SLOW_SMS_LANES_OF_ONE_PARENT = 1;
/** An attempt to send a message that takes this long counts as slow. Mail servers and gateways usually answer within a second. */
export const SLOW_MESSAGE_MS = 5000;
/**
 * How long after a request's deadline the thread for outbound requests may still report how it ended. Its start counts too, which takes seconds
 * on a busy machine.
 */
export const THREAD_PATIENCE_MS = 10_000;
/** How long that thread may take to end its requests before it is ended itself. */
export const THREAD_CLOSE_MS = 1000;
/** How long an unused outbound connection is kept. Many receivers close theirs after five seconds. */
export const IDLE_CONNECTION_MS = 4000;

/** Characters in a mail's link template. */
export const MAX_MAGIC_LINK_LENGTH = 2048;
/** Characters in the JSON of a mail's variables. */
export const MAX_TEMPLATE_VARIABLES_LENGTH = 4096;
/** Variables of a mail. */
export const MAX_TEMPLATE_VARIABLES = 32;
/** Characters in a text message's template. */
export const MAX_SMS_TEMPLATE_LENGTH = 1000;
/** How long a message may wait to be sent. A message whose content expires earlier is dropped then. */
export const MAX_MESSAGE_LIFETIME_MS = WEEK_MS;
/** How long webhook and mail events are kept by default. */
export const DEFAULT_RETENTION_DAYS = 30;
/** Bytes in one message of Amazon SNS, which sends no larger ones. */
export const MAX_SNS_MESSAGE_BYTES = 300 * 1024;
/** How old a message of Amazon SNS may be. */
export const MAX_SNS_MESSAGE_AGE_MS = HOUR_MS;

/** Nodes of one chain. The server calls one after the other until one answers. */
export const MAX_RPC_URLS = 8;
/** How long a node may take to answer one call. */
export const NODE_TIMEOUT_MS = 10_000;
/** Bytes in a node's answer: several times the largest transaction, which the answer contains in hex. */
export const MAX_NODE_ANSWER_BYTES = 1024 * 1024;
/** Bytes in a node's answer with the transactions, traces or receipts of a block, or with one of them. */
export const MAX_BLOCK_ANSWER_BYTES = 16 * 1024 * 1024;
/** Calls inside the transactions of one block that are read. If a block has more, none are. */
export const MAX_BLOCK_CALLS = 200_000;
/** Blocks that a chain's watcher reads at one time. */
export const MAX_BLOCKS_AT_ONCE = 3;
/** Blocks that a chain's watcher reads before it stores them. */
export const MAX_BLOCKS_PER_TURN = 32;
/** How long a chain's watcher reads blocks before it stores them. */
export const WATCHER_TURN_MS = 10_000;
/** Transactions of known addresses that a chain's watcher collects before it stores them. */
export const MAX_ENTRIES_PER_TURN = 2000;
/** Organizations with the same address in whose histories a transaction is stored: the oldest ones. */
export const MAX_OWNERS_PER_ADDRESS = 64;
/** Addresses in one lookup. Ordinary blocks have fewer. */
export const MAX_ADDRESSES_PER_LOOKUP = 10_000;
/** Blocks whose hashes are kept. A deeper reorganization cannot be followed. */
export const MAX_KEPT_BLOCKS = 256;
/** Transactions whose webhook events are stored in one database transaction. */
export const MAX_TOLD_AT_ONCE = 100;
/** Transfers of one transaction that the history of an address shows. */
export const MAX_SHOWN_TRANSFERS = 200;
/**
 * Bytes in a node's answer with the token accounts of a Solana address: about 10,000 accounts. Balances of an address with more are
 * refused.
 */
export const MAX_TOKEN_ACCOUNTS_ANSWER_BYTES = 4 * 1024 * 1024;
/** Tokens that an operator adds to one chain, and prices of assets. One call asks for all balances. */
export const MAX_TOKENS_PER_CHAIN = 64;
export const MAX_PRICES = 1000;
/** Rejections by a chain's nodes after which a transaction fails. */
export const MAX_BROADCAST_REFUSALS = 4;

/** How long a fetched blockhash is reused: about as long as a slot takes. */
export const KEPT_BLOCKHASH_MS = 400;
/** How often the server looks for a blockhash that no identical transaction has used, `KEPT_BLOCKHASH_MS` apart. Then the request fails. */
export const MAX_BLOCKHASH_LOOKS = 10;
/** Messages for which one process remembers the blockhash that it chose. */
export const MAX_CHOSEN_BLOCKHASHES = 10_000;
/** The most that the service pays in fees for one Solana transaction, in lamports: 0.01 SOL. */
export const MAX_SPONSORED_FEE_LAMPORTS = 10_000_000n;
/**
 * The most that the service pays for the rent of accounts that one Solana transaction creates, in lamports: 0.05 SOL, about 24 token
 * accounts.
 */
export const MAX_SPONSORED_RENT_LAMPORTS = 50_000_000n;
/** Lamports that each signer is lent in the simulation that determines the rent. What remains must suffice for the signer's own account. */
export const LENT_LAMPORTS = MAX_SPONSORED_RENT_LAMPORTS + 1_000_000n;
/** Accounts created by one sponsored transaction that are checked for rent. Further ones are not paid for. */
export const MAX_CREATED_ACCOUNTS = 64;
/** The lowest price per compute unit, in millionths of a lamport, that is added to a transaction that names none. */
export const LEAST_UNIT_PRICE = 1000;
/** The highest price per compute unit, in millionths of a lamport, that is added, even if nodes suggest more. */
export const MOST_UNIT_PRICE = 1_000_000;
/** Bytes in a node's answer to the simulation of an unsigned transaction. The accounts in it may be large. */
export const MAX_TRIAL_ANSWER_BYTES = 16 * 1024 * 1024;
/** Signers of one Solana transaction that a request names. Fewer fit into a packet. */
export const MAX_SOLANA_SIGNERS = 16;
/** Pending transactions of one organization: as many as one answer of a node has the status of. */
export const MAX_OPEN_SENDS = 256;
/** A sponsor's account with less than this is reported as low, in wei: 0.02 of an Ethereum chain's asset. */
export const POOR_SPONSOR_WEI = 20_000_000_000_000_000n;
/**
 * A sponsor's account on Solana with less than this is reported as low, in lamports: 0.02 SOL, twice the most that one transaction costs.
 */
export const POOR_SPONSOR_LAMPORTS = 2n * MAX_SPONSORED_FEE_LAMPORTS;
/**
 * A sponsor's account on Solana that also pays rent and has less than this is reported as low, in lamports: loans to one more signer than
 * fit into a transaction, 0.612 SOL.
 */
export const POOR_RENT_SPONSOR_LAMPORTS = 12n * LENT_LAMPORTS;
/** How often the balances of sponsors' accounts are checked while somebody polls `/readyz`. */
export const SPONSOR_LOOK_MS = 30_000;
/** Transactions paid for by one sponsor's account that are followed at one time. Further ones wait. */
export const MAX_FOLLOWED_SPONSORED = 256;
/** Gas of one sponsored transaction: the most that Ethereum allows for a transaction (EIP-7825). */
export const MAX_SPONSORED_GAS = 16_777_216n;
/** The most that one sponsored transaction may cost, in US dollars, if the price of the chain's asset is known. */
export const MAX_SPONSORED_USD = "1000000";
/** The longest window of a limit on sponsoring costs: 30 days. */
export const MAX_GAS_WINDOW_MINUTES = 43_200;
/** Calls in one request to send: as many as the published interface allows. More than one requires a gas station. */
export const MAX_SENT_CALLS = 50;
/**
 * Requests of one parent and its sub-organizations that call nodes to plan a transaction, at one time. Balances, nonces and lists of earn
 * have as many of their own.
 */
export const MAX_PLANNED_AT_ONCE = 4;
/**
 * Requests of one parent and its sub-organizations that call nodes to plan a transaction, or wait to do so. Further ones are refused with a
 * `Retry-After`.
 */
export const MAX_WAITING_PLANS = 256;
/** How long fees from a node are cached. */
export const KEPT_FEES_MS = 1000;
/** How long the number of a chain's newest block is cached for pending transactions. */
export const KEPT_NEWEST_BLOCK_MS = 25;
/** The highest fee per gas, in wei, that the server fills in, even if a node suggests more. A request may name more. */
export const MAX_FEE_PER_GAS = 100_000n * 1_000_000_000n;
/** The most that fees filled in from nodes may cost for one transaction, in wei: if its own account pays, and if the sponsor pays. */
export const TX_FEE_CAP = 1_000_000_000_000_000_000n;
export const SPONSORED_TX_FEE_CAP = 500_000_000_000_000_000n;
/** Highest block or slot number that is accepted. With a transaction's index in its block it still makes a safe integer. */
export const MAX_BLOCK_NUMBER = 2 ** 33 - 1;
/** The latest time of a block, in seconds. No date can be written for a later one (ECMA-262, section 21.4.1.1). */
export const MAX_BLOCK_TIME = 8_640_000_000_000;
/** The largest nonce that is accepted. JSON and the databases store it exactly, and no account ever reaches it. */
export const MAX_NONCE = Number.MAX_SAFE_INTEGER - 1;
/**
 * Transactions sent from elsewhere for an account that a node may report as pending: as many as geth keeps of one account after a gap. More
 * are not believed, because a transaction with a nonce after theirs would have to wait for all of them.
 */
export const MAX_STRANGERS_WAITING = 64;
/** Blocks on top of a transaction's block after which it is final and no longer followed. */
export const SETTLED_BLOCKS = 12;
/** Bytes stored of a call's revert data. */
export const MAX_REVERT_BYTES = 4096;
/** Lines stored of a failed transaction's log: the last ones. */
export const MAX_LOGS = 100;
/** Characters stored of each line of a failed transaction's log. */
export const MAX_LOG_LENGTH = 500;
/** Characters stored of a failed transaction's error, and of its inner instructions, in JSON. */
export const MAX_FAILURE_JSON_LENGTH = 16 * 1024;

/** Lifetime of a one-time code, in seconds: by default, and at most. */
export const OTP_SECONDS = 300;
export const MAX_OTP_SECONDS = 600;
/** Characters in a one-time code. */
export const OTP_LENGTHS = { least: 6, most: 9, unlessSaid: 9 };
/** Longest session to which the auth proxy signs people in, in seconds. */
export const MAX_AUTH_PROXY_SESSION_SECONDS = 30 * 86_400;
/** Bytes in a body that the auth proxy accepts. */
export const MAX_AUTH_PROXY_BODY_BYTES = 256 * 1024;
/** Origins, and client ids, in the configuration of the auth proxy. */
export const MAX_AUTH_PROXY_ENTRIES = 100;
/** How long a captcha provider may take to answer, and the largest answer, in bytes. */
export const CAPTCHA_TIMEOUT_MS = 5000;
export const MAX_CAPTCHA_ANSWER_BYTES = 16 * 1024;
/** Captchas that are verified at one time, of one organization and in total: no more than one host has connections. */
export const MAX_CAPTCHAS_OF_ONE_ORGANIZATION = 4;
export const MAX_CAPTCHAS = 8;
/** Captchas of one organization that are being verified or wait. Each waits at most `CAPTCHA_TIMEOUT_MS`. Further ones are refused. */
export const MAX_WAITING_CAPTCHAS = 64;
/** Characters in a captcha's token. Those of Turnstile have at most 2048. */
export const MAX_CAPTCHA_TOKEN_LENGTH = 4096;
/** Wrong guesses that lock a code. */
export const MAX_OTP_TRIES = 3;
/** Valid codes of one contact at the same time. Beyond it, the oldest ends. */
export const MAX_LIVE_OTPS = 3;
/** The window in which the codes of a contact, and wrong guesses at them, are counted. */
export const OTP_WINDOW_MS = 180_000;
/** Codes started for one contact within `OTP_WINDOW_MS`. Further starts are refused. */
export const MAX_OTP_STARTS = 3;
/** Wrong guesses at all codes of one contact within `OTP_WINDOW_MS`. Further guesses are refused. */
export const MAX_OTP_FAILURES = 9;
/** Bytes in the plaintext of a client's encrypted guess: a code and a public key. */
export const MAX_OTP_BUNDLE_BYTES = 1024;
/** Lifetime of a token that proves a contact, in seconds: by default, and at most. */
export const VERIFICATION_TOKEN_SECONDS = 3600;
export const MAX_VERIFICATION_TOKEN_SECONDS = 86_400;
/** How long after a token's expiry its use is still recorded. A clock may be ahead for a while, or be set back. */
export const USED_TOKENS_KEPT_MS = DAY_MS;

/** Characters in an OIDC token. */
export const MAX_OIDC_TOKEN_LENGTH = 64 * 1024;
/** Characters in each of the issuer, the subject and the audience of an OIDC token. */
export const MAX_OIDC_CLAIM_LENGTH = 255;
/** OIDC tokens in one request. Each may require a request to another issuer. */
export const MAX_OIDC_TOKENS = 100;
/** How far the clocks of this server and of an issuer may differ. */
export const OIDC_CLOCK_SKEW_MS = MINUTE_MS;
/** How long an issuer may take to return its discovery document and its keys together. A fetch waits as long for its turn. */
export const ISSUER_TIMEOUT_MS = 5_000;
/** Bytes in an issuer's discovery document, and in its keys. */
export const MAX_ISSUER_DOCUMENT_BYTES = 128 * 1024;
/** Keys of one issuer. */
export const MAX_ISSUER_KEYS = 64;
/** Shortest and longest time for which an issuer's keys are cached, whatever its response says. */
export const MIN_KEY_SET_LIFETIME_MS = 30_000;
export const MAX_KEY_SET_LIFETIME_MS = DAY_MS;
/** How long an issuer's keys are cached if its response says nothing. */
export const DEFAULT_KEY_SET_LIFETIME_MS = 5 * MINUTE_MS;
/** How often, at most, an issuer is asked again because none of its keys verifies a token. */
export const UNKNOWN_KEY_PAUSE_MS = 30_000;
/** How long an issuer that returned no keys is not asked again. */
export const ISSUER_FAILURE_PAUSE_MS = 5_000;
/** Cache of issuers' keys, by bytes of their responses. Issuers that returned no keys have a cache of the same size. */
export const MAX_KNOWN_ISSUER_BYTES = 16 * 1024 * 1024;
/** What a parent with its sub-organizations may have of it before it is the first to lose some: the keys of a handful of issuers. */
export const SHARE_OF_KNOWN_ISSUER_BYTES = 64 * 1024;
/** Issuers that returned no keys and that are remembered. */
export const MAX_UNUSABLE_ISSUERS = 1000;
/** Issuers that are asked at one time, for one parent with its sub-organizations and in total. */
export const MAX_ISSUER_FETCHES_OF_ONE_ORGANIZATION = 4;
export const MAX_ISSUER_FETCHES = 64;
/**
 * Requests to issuers in flight and waiting, for one parent with its sub-organizations. Far fewer than its requests, because each one that
 * waits uses a slot.
 */
export const MAX_WAITING_ISSUER_FETCHES = 32;

/** Bytes in an OAuth 2.0 client secret. */
export const MAX_CLIENT_SECRET_BYTES = 4096;
/** Characters in each of the code, the verifier and the redirect URL of an OAuth 2.0 exchange. */
export const MAX_OAUTH2_FIELD_LENGTH = 4096;
/** How long an OAuth 2.0 provider may take for each of its two answers, and the largest answer, in bytes. */
export const OAUTH2_TIMEOUT_MS = 10_000;
export const MAX_OAUTH2_ANSWER_BYTES = 64 * 1024;
/** OAuth 2.0 codes that are exchanged at one time, for one parent with its sub-organizations and in total. */
export const MAX_EXCHANGES_OF_ONE_ORGANIZATION = 4;
export const MAX_EXCHANGES = 64;
/** Exchanges of OAuth 2.0 codes in flight and waiting, for one parent with its sub-organizations. Further ones are refused. */
export const MAX_WAITING_EXCHANGES = 32;
/** How long the result of a code's exchange is kept for a repeated request while its activity is being stored. */
export const EXCHANGE_LIFETIME_MS = MINUTE_MS;
/** Results of exchanges that are kept. */
export const MAX_KEPT_EXCHANGES = 1000;
/** Lifetime of a token that this service issues for a person authenticated by an OAuth 2.0 provider. */
export const ISSUED_TOKEN_LIFETIME_MS = 15 * MINUTE_MS;

/** Bytes in a secret or private key of an on-ramp provider. A PEM of P-256 has fewer than 300. */
export const MAX_ON_RAMP_SECRET_BYTES = 1024;
/** How long an on-ramp provider may take to answer. A request waits as long for its turn. */
export const ON_RAMP_TIMEOUT_MS = 10_000;
/** Bytes in an on-ramp provider's answer. */
export const MAX_ON_RAMP_ANSWER_BYTES = 128 * 1024;
/** Requests to on-ramp providers in flight, for one parent with its sub-organizations and in total. */
export const MAX_ON_RAMP_CALLS_OF_ONE_ORGANIZATION = 4;
export const MAX_ON_RAMP_CALLS = 64;
/** Requests to on-ramp providers in flight and waiting, for one parent with its sub-organizations. Further ones are refused. */
export const MAX_WAITING_ON_RAMP_CALLS = 32;
/** Queries to providers for the status of purchases, for one parent with its sub-organizations. */
export const ON_RAMP_REFRESHES = { perSecond: 10, burst: 100 } as const;

/** Bytes in one row of a backup. The largest stamped body, with its intent and escaped in JSON, takes less than half. */
export const MAX_BACKUP_LINE_BYTES = 64 * 1024 * 1024;
/** The age at which activities can be archived. Until then the current month's figures and late votes need them. */
export const MIN_ARCHIVE_AGE_MS = 35 * DAY_MS;
/** How often an archive command sends a query to PostgreSQL to keep its lock. PostgreSQL releases the lock after 10 minutes without one. */
export const ARCHIVE_LOCK_BEAT_MS = MINUTE_MS;
/** Activities that are read for an archive, or removed after it, at a time. */
export const ARCHIVED_ACTIVITIES_AT_ONCE = 50;
/** Operators in one operator set. */
export const MAX_TVC_OPERATORS_OF_SET = 50;
/** Operators, operator sets and apps of one organization. */
export const MAX_TVC_OPERATORS = 1000;
export const MAX_TVC_OPERATOR_SETS = 1000;
export const MAX_TVC_APPS = 100;
/** Quorum keys that an organization may create. */
export const MAX_TVC_QUORUM_KEYS = 100;
/** Deployments of one app that are not cleaned up. */
export const MAX_TVC_DEPLOYMENTS = 50;
/** Deployments of an app that lists show: the newest. */
export const MAX_LISTED_TVC_DEPLOYMENTS = 200;
/** Replicas of one deployment. Each has its own address on the loopback network. */
export const MAX_TVC_REPLICAS = 10;
/** Deployments for which a server remembers whether their manifests are approved. */
export const MAX_REMEMBERED_JUDGEMENTS = 1000;
/** Arguments of a program, and characters in each. */
export const MAX_PIVOT_ARGS = 100;
export const MAX_PIVOT_ARG_LENGTH = 1024;
/** Bytes of all arguments of a program in JSON. The server sends all running programs to its runner in one frame. */
export const MAX_PIVOT_ARGS_BYTES = 16 * 1024;
/** Base64 characters in a manifest that a request contains. It fits the names of 50 operators in each set, and all arguments. */
export const MAX_SHOWN_MANIFEST_DIGITS = 256 * 1024;
/** Base64 characters in the document about a runner's key that a request contains. */
export const MAX_SHOWN_PROVISIONING_DIGITS = 4096;
/** Characters in the path of a program in its image. */
export const MAX_PIVOT_PATH_LENGTH = 512;
/** Deployments that an organization may ever create. Their records are kept permanently. */
export const MAX_TVC_DEPLOYMENTS_EVER = 10_000;
/** Bytes in a secret for pulling images. It may cover several registries. */
export const MAX_PULL_SECRET_BYTES = 16 * 1024;
/** How long all reads from an image's registry together may take, and how long a read waits for its turn. */
export const IMAGE_TIMEOUT_MS = MINUTE_MS;
/**
 * Images that are read at one time, for one parent with its sub-organizations and in total. A read whose registry is slow takes a connection and
 * the disk for one layer.
 */
export const MAX_IMAGE_READS_OF_ONE_ORGANIZATION = 2;
export const MAX_IMAGE_READS = 24;
/** Reads of images in flight and waiting, for one parent with its sub-organizations. Further ones are refused. */
export const MAX_WAITING_IMAGE_READS = 32;
/** Bytes in an image's manifest. */
export const MAX_IMAGE_MANIFEST_BYTES = 4 * 1024 * 1024;
/** Bytes in a layer of an image, compressed and unpacked. */
export const MAX_IMAGE_LAYER_BYTES = 128 * 1024 * 1024;
export const MAX_UNPACKED_LAYER_BYTES = 1024 * 1024 * 1024;
/** Layers that are unpacked at one time, one for each parent with its sub-organizations. Each may hold a program in memory. */
export const MAX_UNPACKED_AT_ONCE = 2;
/** Layers of an image. */
export const MAX_IMAGE_LAYERS = 127;
/** Bytes in the program file that is extracted from an image. */
export const MAX_PROGRAM_BYTES = 128 * 1024 * 1024;
/**
 * Longer than any lease, whether of a lane of jobs, including its pause, or of a deployment. A lease that ends later than this was granted
 * before the clock was set back.
 */
export const LONGEST_LEASE_MS = 5 * MINUTE_MS;
/** Deployments that one server runs at a time. Each has 254 addresses on the loopback network. */
export const MAX_RUN_DEPLOYMENTS = 64;
/** Deployments of one parent with its sub-organizations that one server runs at a time: the oldest. */
export const MAX_RUN_DEPLOYMENTS_OF_ONE_ORGANIZATION = 16;
/**
 * Deployments of one parent with its sub-organizations from which a server selects those to run. This leaves room for all that are refused,
 * 16 every half second, in the 15 seconds until the first of them are judged again.
 */
export const MAX_CONSIDERED_DEPLOYMENTS_OF_ONE_ORGANIZATION = 512;
/** Programs of deleted deployments that a server keeps because they can be restored: those deleted last. */
export const MAX_KEPT_PROGRAMS = 64;
/** Lines kept of one replica's log, and characters in each. */
export const MAX_LOG_LINES = 1000;
export const MAX_LOG_LINE_LENGTH = 4096;
/** Bytes in JSON of the logs of all replicas that one answer shows: the newest lines. */
export const MAX_SHOWN_LOG_BYTES = 1024 * 1024;
/** Limits of a program: bytes in one file, open files, and processes of its user. */
export const PROGRAM_FILE_BYTES = 256 * 1024 * 1024;
export const PROGRAM_OPEN_FILES = 1024;
export const PROGRAM_PROCESSES = 256;
/** Bytes on disk that a replica may keep in its folder. If it keeps more, it is stopped and starts again with an empty folder. */
export const PROGRAM_FOLDER_BYTES = 1024 ** 3;
/** Files and folders that a replica may keep in its folder. If it keeps more, it is stopped and starts again with an empty folder. */
export const PROGRAM_FOLDER_ENTRIES = 10_000;
/** How often the folder of a replica is checked. */
export const FOLDER_CHECK_EVERY_MS = 5000;
/** How often a replica's health is checked, and how long a check may take. */
export const HEALTH_CHECK_EVERY_MS = 1000;
export const HEALTH_CHECK_TIMEOUT_MS = 2000;
/**
 * Requests that one server forwards at a time, to one app and in total. They are shared: an address, or a parent with its sub-organizations,
 * gets one only while it has fewer than are free.
 */
export const MAX_INGRESS_OF_ONE_APP = 256;
export const MAX_INGRESS = 1024;
/** A piece of an app's answer, such as a chunk, that counts as small: passing it on costs about as much as a large one. */
export const SMALL_PIECE_BYTES = 64;
/** Small pieces in the answers of all apps of one parent with its sub-organizations: per second, and at once. */
export const SMALL_PIECES_PER_SECOND = 16_384;
export const MAX_SMALL_PIECES_AT_ONCE = 65_536;
/** How long an app may be silent while it answers a forwarded request. */
export const INGRESS_TIMEOUT_MS = MINUTE_MS;
/** Vaults in the catalog of earn. */
export const MAX_EARN_VAULTS = 100;
/** Wrappers of an organization over vaults. The service paid for the deployment of each. */
export const MAX_EARN_WRAPPERS = 100;
/** Requests of an Earn position that are compared with one of them; far fewer get into blocks while it is followed. */
export const MAX_BOOKED_BESIDE = 1000;
/** How long the hourly share prices of vaults are kept. */
export const EARN_PRICES_KEPT_MS = 31 * DAY_MS;
/** How long the link of the first start is valid for creating a passkey for the root user. */
export const FIRST_VISIT_MS = 15 * MINUTE_MS;
/** How long everything that one request asks of a swap provider may take, including retries and pauses. */
export const SWAP_PROVIDER_TOTAL_MS = 19_000;
/** How often a call to a swap provider is tried if it fails temporarily, and the first pause between two tries. */
export const SWAP_PROVIDER_TRIES = 3;
export const SWAP_PROVIDER_PAUSE_MS = 400;
/** Bytes in a swap provider's answer. A quote has some tens of thousands. */
export const MAX_SWAP_ANSWER_BYTES = 512 * 1024;
/** Requests to swap providers in flight, for one parent with its sub-organizations and in total. */
export const MAX_SWAP_CALLS_OF_ONE_ORGANIZATION = 8;
export const MAX_SWAP_CALLS = 64;
/** Bytes in the call that a provider asks a wallet to make. */
export const MAX_SWAP_CALL_BYTES = 32 * 1024;
/** The highest fee that an organization may take from a swap, in basis points. */
export const MAX_SWAP_FEE_BPS = 500;
/** Unused quotes that are kept for one organization. Beyond it, the oldest are removed. */
export const MAX_SWAP_QUOTES = 1000;
/** How long after its quote expires a swap may wait for its turn to be signed. After that, the simulation may no longer apply. */
export const SWAP_TURN_MS = 5 * MINUTE_MS;
/** How long the provider is asked about a failed swap, because it may report a refund late. */
export const SWAP_REFUND_MS = DAY_MS;
/** Accounts to which a swap on Solana may write, and instructions in its offer. */
export const MAX_SWAP_WRITABLE_ACCOUNTS = 64;
export const MAX_SWAP_INSTRUCTIONS = 64;
/** Bytes of each account of a Solana swap that are searched for the wallet. */
export const MAX_SWAP_ACCOUNT_BYTES = 1024;
/** Lamports that the wallet may have to pay in fees for a Solana swap. */
export const MAX_SWAP_LAMPORTS_OF_FEES = 10_000_000n;
/** Logs of one simulated swap that are read. */
export const MAX_SWAP_LOGS = 1000;
/** Lines of the audit stream that may wait for one sink, by default. */
export const MAX_AUDIT_BACKLOG = 100_000;
/** Lines of the audit stream that are sent to a sink at a time. */
export const AUDIT_BATCH = 500;
/**
 * How long lines of the audit stream are collected before they are sent, how often a sink's backlog is checked, and the longest pause after
 * a failure.
 */
export const AUDIT_GATHER_MS = 100;
export const AUDIT_LOOK_MS = 1000;
export const AUDIT_RETRY_MS = 30_000;
/** A backlog of more lines than this is counted less often: once in `LARGE_AUDIT_BACKLOG_LOOK_MS`. */
export const LARGE_AUDIT_BACKLOG = 10_000;
export const LARGE_AUDIT_BACKLOG_LOOK_MS = 10_000;
/** How long one attempt to send lines to a sink may take, and how long the last attempt of a stopping server may take. */
export const AUDIT_ATTEMPT_MS = 10_000;
export const AUDIT_STOP_MS = 1000;
/** Bytes in an audit receiver's answer. */
export const MAX_AUDIT_ANSWER_BYTES = 4096;
/** Characters of a public key in a line of the audit stream. All kinds of keys are shorter. */
export const MAX_AUDIT_KEY_LENGTH = 512;
/** Refused authentications that get their own line in the audit stream, of all senders together. Others are only counted. */
export const REFUSAL_LINES = { perSecond: 5, burst: 200 };
/** Lines of refused authentications that are held for a sink. */
export const MAX_REFUSALS_HELD = 1000;
/** The `Retry-After` of requests that are refused because of the audit stream. */
export const AUDIT_BLOCKED_SECONDS = 5;
/** Trace spans that may wait for the collector, how many are sent at a time, and how long they are collected first. */
export const MAX_TRACE_SPANS = 8192;
export const TRACE_BATCH = 512;
export const TRACE_GATHER_MS = 1000;
/** How long one attempt to send trace spans may take, how long a stopping server keeps sending, and the longest pause after a failure. */
export const TRACE_ATTEMPT_MS = 10_000;
export const TRACE_STOP_MS = 1000;
export const TRACE_RETRY_MS = 30_000;
/** Bytes in a trace collector's answer. */
export const MAX_TRACE_ANSWER_BYTES = 4096;
/** Requests that are traced beyond the sampling ratio because their clients trace them, of all clients together. */
export const CONTINUED_TRACES = { perSecond: 10, burst: 100 };
/** Activities of a user, from the cursor on, that a list searches for those of a type or status. */
export const MAX_USER_ACTIVITIES_LOOKED_THROUGH = 5000;

/** The pause between two test events to the same webhook endpoint. */
export const WEBHOOK_TEST_PAUSE_SECONDS = 5;

/** Bytes in a webhook event that was stored compressed. An activity is far smaller. */
export const MAX_WEBHOOK_EVENT_BYTES = 64 * 1024 * 1024;

/** Characters of the log that may wait while it cannot be written. Further lines are lost and counted. */
export const MAX_WAITING_LOG_LENGTH = 8 * 1024 * 1024;
/** The pause before the log is written again after a failure. */
export const LOG_RETRY_MS = 100;

/** Accounts for which a server remembers the last nonce at the gas station that a block contains. */
export const MAX_REMEMBERED_EXECUTIONS = 10_000;
/**
 * How long an account's last nonce at the gas station is remembered. If a node reports a lower one after that, the node is not behind: a
 * reorganization undid the block.
 */
export const NODE_BEHIND_MS = MINUTE_MS;
