/** Every bound of the service that a client can meet. Operators read them in docs/guide/limits.md. */

/** Largest request body in bytes. Above the largest legal field, so that an oversized field is named. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** Largest stamp header in bytes; a WebAuthn stamp with a long user handle is under 4 KiB. */
export const MAX_STAMP_BYTES = 16 * 1024;
/** Longest WebAuthn credential ID in bytes (WebAuthn Level 3, section 4). */
export const MAX_CREDENTIAL_ID_BYTES = 1023;
/** Characters of each part of an authenticator's attestation; with a certificate chain it is under 8 KiB. */
export const MAX_ATTESTATION_LENGTH = 64 * 1024;
/** Bound of all request headers together in bytes; beyond it the connection is answered and closed. */
export const MAX_HEADER_BYTES = 128 * 1024;
/** A connection must send a request's headers within this time ... */
export const HEADER_TIMEOUT_MS = 10_000;
/** ... the whole request within this one ... */
export const REQUEST_TIMEOUT_MS = 30_000;
/** ... and the next request within this one; over the minute after which load balancers give up unused connections. */
export const IDLE_TIMEOUT_MS = 72_000;
/** Requests that a connection may send ahead of the answers before them; each is looked at when its turn comes. */
export const MAX_PIPELINED_REQUESTS = 16;
/** A client must take an answer within this time ... */
export const ANSWER_GRACE_MS = 10_000;
/** ... and the time that the rest of it needs at this pace. */
export const MIN_ANSWER_BYTES_PER_SECOND = 32 * 1024;
/** Bytes of request bodies that are held at one time, each over the small ones counted ... */
export const MAX_HELD_BODY_BYTES = 128 * 1024 * 1024;
/** ... and of answers that are being sent ... */
export const MAX_HELD_ANSWER_BYTES = 128 * 1024 * 1024;
/** ... of which those of one address may take this part. */
export const MAX_SHARE_OF_ONE_ADDRESS = 1 / 4;
/** Bodies and answers up to this size are not counted: connections bound how many there are. */
export const SMALL_MESSAGE_BYTES = 64 * 1024;
/** Bytes of a body that count as one more request where requests are counted. */
export const BYTES_PER_TOKEN = 64 * 1024;
/** Seconds' worth of requests that may come at once after a pause. */
export const RATE_BURST_SECONDS = 10;
/** Organizations, credentials and addresses whose requests are counted; those unused for longest are forgotten. */
export const MAX_RATE_BUCKETS = 10_000;
/** Stamps of one credential from one address that are verified at a time, and ... */
export const MAX_IDENTIFICATIONS_OF_ONE_SENDER = 64;
/** ... requests of one organization that are worked on; more of them wait, and those of others do not. */
export const MAX_REQUESTS_OF_ONE_ORGANIZATION = 128;
/** Objects and arrays inside one another in a JSON body. */
export const MAX_JSON_DEPTH = 64;
/** Values in a JSON body: members of objects and entries of arrays, at every level. Looking at each takes its time. */
export const MAX_JSON_VALUES = 100_000;
/** Members of one object in a JSON body: of lists, time goes by their length, of objects by more. */
export const MAX_JSON_MEMBERS = 1000;
/** A body larger than this is parsed in steps, between which other requests get their turn. */
export const LARGE_JSON_BYTES = 64 * 1024;

/** A request is accepted this long after its `timestampMs` ... */
export const MAX_REQUEST_AGE_MS = 60 * 60 * 1000;
/** ... and this far before it. */
export const MAX_CLOCK_AHEAD_MS = 5 * 60 * 1000;
/** A vote counts this long; a later decision ignores it. */
export const VOTE_LIFETIME_MS = 24 * 60 * 60 * 1000;

/** Characters of a name that people give: keys, users, tags, organizations. */
export const MAX_LABEL_LENGTH = 255;
/** Entries in a list of a request, where no narrower limit applies. */
export const MAX_LIST_LENGTH = 1000;
/** Characters of a payload to sign. */
export const MAX_PAYLOAD_LENGTH = 512 * 1024;
/** Characters of EIP-712 typed data: hashing it is work for the server, and more the more structs it holds. */
export const MAX_TYPED_DATA_LENGTH = 64 * 1024;
/** Payloads in one sign_raw_payloads. */
export const MAX_PAYLOADS = 100;
/** Struct types in one EIP-712 payload, the domain's included ... */
export const MAX_TYPED_DATA_TYPES = 64;
/** ... and characters of all their definitions together. A type's hash covers every type it refers to. */
export const MAX_TYPED_DATA_TYPES_LENGTH = 64 * 1024;

/** Bytes of a PSBT: a legacy input brings along the whole transaction that it spends ... */
export const MAX_PSBT_BYTES = 1024 * 1024;
/** ... the transaction in it without signatures: four such bytes weigh what nodes relay at most ... */
export const MAX_UNSIGNED_BITCOIN_BYTES = 100_000;
/** ... its inputs: each legacy one to be signed hashes all others again ... */
export const MAX_PSBT_INPUTS = 1000;
/** ... and the records of all its maps together. */
export const MAX_PSBT_RECORDS = 20_000;
/** Bytes of a Tron transaction's `raw_data`: the network takes no more than 500 KiB in all. */
export const MAX_TRON_BYTES = 500 * 1024;
/** Bytes of a Solana transaction: what fits into one packet of its network. */
export const MAX_SOLANA_TRANSACTION_BYTES = 1232;
/** Values decoded of one Solana instruction, lists and structs included ... */
export const MAX_BORSH_VALUES = 2048;
/** ... and how deep they may stand inside one another. */
export const MAX_BORSH_DEPTH = 64;
/** Bytes of one unsigned EVM or Tempo transaction; nodes take no larger one into their pools. */
export const MAX_EVM_TRANSACTION_BYTES = 128 * 1024;
/** Byte strings and lists in one RLP encoding ... */
export const MAX_RLP_ITEMS = 16_384;
/** ... and lists inside one another. */
export const MAX_RLP_DEPTH = 16;
/** Functions of one smart contract interface. */
export const MAX_CONTRACT_FUNCTIONS = 2000;
/** Array dimensions of one type of a contract's interface ... */
export const MAX_ABI_DIMENSIONS = 16;
/** ... and those of all its types, together with the lists of its JSON. */
export const MAX_ABI_LISTS = 20_000;
/** Characters of an address that a request names. */
export const MAX_ADDRESS_LENGTH = 1024;
/** Levels of a derivation path below its `m`. */
export const MAX_PATH_LEVELS = 10;

export const MAX_USERS = 100;
export const MAX_PRIVATE_KEYS = 1000;
export const MAX_WALLETS = 100;
/** Accounts of a wallet that one request makes; a wallet may have any number. */
export const MAX_ACCOUNTS_PER_REQUEST = 100;
export const MAX_TAGS = 100;
export const MAX_POLICIES = 100;
export const MAX_SESSION_PROFILES = 100;
export const MAX_MFA_POLICIES_PER_USER = 20;
/** Groups of methods in one MFA policy, and methods in one group. */
export const MAX_MFA_METHODS = 10;
/** Rules of one IP allowlist. */
export const MAX_IP_RULES = 10;
/** Shortest prefix of such a rule, by the family of its addresses. */
export const MIN_IP_RULE_PREFIX = { 4: 20, 6: 48 } as const;
/** Entries of an X-Forwarded-For header that are looked at, from the right. */
export const MAX_FORWARDED_ADDRESSES = 32;
/** Invitations that are neither accepted nor revoked. */
export const MAX_OPEN_INVITATIONS = 100;
export const MAX_SMART_CONTRACT_INTERFACES = 1000;
/** Bytes of the JSON of one smart contract interface (UTF-8) ... */
export const MAX_SMART_CONTRACT_INTERFACE_BYTES = 400 * 1024;
/** ... and of all of an organization, as one answer lists them all. */
export const MAX_SMART_CONTRACT_INTERFACES_BYTES = 16 * 1024 * 1024;
/** Parsed interfaces kept in memory, of contracts and of programs each, by number and by bytes of memory. */
export const MAX_CACHED_INTERFACES = 1000;
export const MAX_CACHED_INTERFACE_BYTES = 32 * 1024 * 1024;
/** Sub-organizations, the senior ones first, in which the maker of a stamp is looked for when it does not name one. */
export const MAX_HOLDERS = 16;
/** Notes of the first use of a credential that wait for their commit; what comes beyond them is noted at its next use. */
export const MAX_OPEN_FIRST_USES = 1000;
export const MAX_AUTHENTICATORS_PER_USER = 10;
export const MAX_LASTING_API_KEYS_PER_USER = 10;
export const MAX_EXPIRING_API_KEYS_PER_USER = 10;
export const MAX_OAUTH_PROVIDERS_PER_USER = 10;
/** What an organization is known as at OAuth 2.0 providers. */
export const MAX_OAUTH2_CREDENTIALS = 25;

/** Selectors of a policy in the older versions of create_policy; they become one expression, whose depth they add to. */
export const MAX_SELECTORS = 32;
/** Characters of one policy expression (UTF-16 code units). */
export const MAX_POLICY_LENGTH = 16 * 1024;
/** Characters of all expressions of an organization's policies together: each request has them all evaluated. */
export const MAX_POLICIES_LENGTH = 256 * 1024;
/** Parts of a policy expression inside one another. */
export const MAX_POLICY_DEPTH = 64;
/** Steps one evaluation of a policy expression may take; a list element visited or a list entry compared is a step. */
export const MAX_POLICY_STEPS = 100_000;
/** Sets of further approvals tried for one policy before it is taken that more approvals do not help ... */
export const MAX_CONSENSUS_TRIALS = 2_000;
/** ... and steps spent on such trials in one decision, over all its policies. */
export const MAX_CONSENSUS_STEPS = 300_000;
/** Steps spent on saying why each policy came to its outcome; the others are then told without. */
export const MAX_EXPLANATION_STEPS = 100_000;
/** Steps of all that is evaluated at a time: for one decision, and inside one transaction, for which others wait ... */
export const MAX_DECISION_STEPS = 600_000;
/** ... and for a whole request. */
export const MAX_REQUEST_STEPS = 4_000_000;
/** Time zones kept in memory; there are about 600 names of them. */
export const MAX_TIME_ZONES = 700;
/** Compiled expressions kept in memory, by number and by what they take. */
export const MAX_CACHED_EXPRESSIONS = 20_000;
export const MAX_CACHED_EXPRESSION_BYTES = 128 * 1024 * 1024;
/** Columns of values of expressions kept in memory for one list of policies, each of up to MAX_POLICIES values. */
export const MAX_REMEMBERED_COLUMNS = 64;
/** Users kept in memory as the API shows them, by number and by bytes of their JSON. */
export const MAX_CACHED_USERS = 10_000;
export const MAX_CACHED_USER_BYTES = 64 * 1024 * 1024;
/** IP allowlists kept in memory with their blocks parsed, by number and by bytes of their JSON. */
export const MAX_CACHED_ALLOWLISTS = 1000;
export const MAX_CACHED_ALLOWLIST_BYTES = 4 * 1024 * 1024;
/** Filters of webhook subscriptions kept in memory, by number and by bytes of their JSON. */
export const MAX_CACHED_FILTERS = 1000;
export const MAX_CACHED_FILTER_BYTES = 4 * 1024 * 1024;
/** Lists of policies remembered as stored, by number and by what they take. */
export const MAX_REMEMBERED_POLICY_LISTS = 10_000;
export const MAX_REMEMBERED_POLICIES_BYTES = 64 * 1024 * 1024;

/** Bytes of an imported mnemonic with its passphrase; 24 words take under 1 KiB in every language. */
export const MAX_MNEMONIC_BYTES = 4096;
/** Bytes of an imported secret. */
export const MAX_SECRET_BYTES = 64 * 1024;
/** Secrets imported or exported by one request; the result of an activity is stored with it. */
export const MAX_SECRETS_PER_REQUEST = 10;
export const MAX_SECRETS = 1000;
/** Static properties of a secret, and what a request says about its export ... */
export const MAX_SECRET_PROPERTIES = 32;
/** ... and characters of the value of one. */
export const MAX_SECRET_PROPERTY_LENGTH = 1024;
/** An import must follow its initialization within this time ... */
export const IMPORT_KEY_LIFETIME_MS = 24 * 60 * 60 * 1000;
/** ... and so many of one user's can be open, those of secrets apart from all others; the oldest make room. */
export const MAX_IMPORT_KEYS = 20;

/** Bytes of a request whose activity is to be proved: proofs carry the stamped bodies along ... */
export const MAX_PROVEN_BODY_BYTES = 64 * 1024;
/** ... of all approvals in one proof together, as they stand in it ... */
export const MAX_PROVEN_STATEMENT_BYTES = 1024 * 1024;
/** ... and addresses proved of one activity: the signer makes a signature for each. */
export const MAX_PROVEN_ADDRESSES = 100;
/** How often an activity is proved anew because its organization changed meanwhile. */
export const MAX_PREPARATIONS = 8;

/** Bytes of a body that is kept whole although it was denied ... */
export const MAX_DENIED_BODY_BYTES = 16 * 1024;
/** ... and of a larger one, the characters that are kept of its beginning, ... */
export const MAX_DENIED_MESSAGE_LENGTH = 4096;
/** ... of each text in its intent, ... */
export const MAX_DENIED_TEXT_LENGTH = 256;
/** ... and the entries of each list there; ... */
export const MAX_DENIED_LIST_LENGTH = 4;
/** ... of an intent that is large even so, each text, and one entry of each list. */
export const MIN_DENIED_TEXT_LENGTH = 16;
/** Denied activities of one organization that are stored in an hour, and at once ... */
export const DENIALS_OF_ONE_ORGANIZATION = { perHour: 1000, burst: 2000 } as const;
/** ... and those of one user. */
export const DENIALS_OF_ONE_USER = { perHour: 500, burst: 500 } as const;
/** Bytes of the body of approve_activity and reject_activity: each stays with the activity. */
export const MAX_VOTE_BODY_BYTES = 4096;
/** Characters of the messages of all votes on an activity, where one is cast by sending the activity's body again. */
export const MAX_VOTE_MESSAGES_LENGTH = 8 * 1024 * 1024;

/** Stored bytes that requests read for their answers at one time, each over the small ones counted; one may be larger alone, ... */
export const MAX_READ_BYTES = 32 * 1024 * 1024;
/** ... and those of one organization. */
export const MAX_READ_BYTES_OF_ONE_ORGANIZATION = 8 * 1024 * 1024;
/** The newest attempts of a webhook's delivery, and ... */
export const MAX_SHOWN_ATTEMPTS = 100;
/** ... the newest evaluations of the policies for one activity, that a query shows. */
export const MAX_SHOWN_EVALUATIONS = 500;
/** Bytes of what is stored of the activities on one page of list_activities, but for the first of them. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** Objects on one page of a list query. */
export const MAX_PAGE_SIZE = 100;
export const DEFAULT_PAGE_SIZE = 10;

/** How long a request may wait for its durable commit. */
export const COMMIT_DEADLINE_MS = 15_000;
/** How long work that an outage of the database cut off is tried again; after so long an outage everybody is told at once. */
export const OUTAGE_PATIENCE_MS = 5_000;
/** How long a transaction waits for another process that writes to the same SQLite file. */
export const SQLITE_LOCK_DEADLINE_MS = 5_000;
/** How often it is looked whether the files of a SQLite database are still in their place, beside once for each commit. */
export const FILE_WATCH_MS = 250;
/** How long a look at the database's health may take ... */
export const HEALTH_DEADLINE_MS = 600;
/** ... and how long what it found stands for all who ask. */
export const HEALTH_LIFETIME_MS = 250;
/** How long writes count as failing after one that failed because of the database. */
export const FAILED_WRITE_MS = 750;
/** How long the signer may work on one request, and how long it may give no sign of life while it has one. */
export const SIGNER_DEADLINE_MS = 10_000;
/** Requests of one organization that wait for the signer ... */
export const MAX_SIGNER_WAITING = 1000;
/** ... what they may cost together, in units of `signer/cost.ts`, of which the signer does about ten in a millisecond ... */
export const MAX_SIGNER_WAITING_COST = 150_000;
/** ... and those of all organizations: beyond it each may have one request waiting. */
export const MAX_SIGNER_WAITING_COST_IN_ALL = 600_000;
/** What the signer has in hand of one organization at once: requests of this cost together, or one that costs more ... */
export const MAX_SIGNER_WINDOW_COST = 128;
/** ... and requests in all. */
export const MAX_SIGNER_WINDOW = 1000;
/** Largest frame between server and signer in bytes: a body in JSON twice over, with what it asks to sign. */
export const MAX_SIGNER_FRAME_BYTES = 16 * 1024 * 1024;
/** How long a stopping server waits for open requests. */
export const DRAIN_DEADLINE_MS = 10_000;
/** How long it waits after that for running jobs. */
export const JOB_STOP_DEADLINE_MS = 5000;

/** Characters of a URL that the service calls on behalf of an organization. */
export const MAX_URL_LENGTH = 2048;
/** All headers of the answer to an outbound request together in bytes. */
export const MAX_ANSWER_HEADER_BYTES = 16 * 1024;
/** Open outbound connections to one host and port; further requests wait their turn. */
export const MAX_CONNECTIONS_PER_HOST = 8;
/** Open outbound connections of one scheme altogether. */
export const MAX_CONNECTIONS = 128;
/** How long an unused outbound connection is kept; under the five seconds after which many receivers close theirs. */
export const IDLE_CONNECTION_MS = 4000;

/** Characters of a link's template in a mail, ... */
export const MAX_MAGIC_LINK_LENGTH = 2048;
/** ... of the JSON of a mail's variables ... */
export const MAX_TEMPLATE_VARIABLES_LENGTH = 4096;
/** ... with so many members ... */
export const MAX_TEMPLATE_VARIABLES = 32;
/** ... and of a text message's template. */
export const MAX_SMS_TEMPLATE_LENGTH = 1000;
/** How long a message may wait to be sent; one that is only good for a shorter time is dropped when that is over. */
export const MAX_MESSAGE_LIFETIME_MS = 7 * 24 * 60 * 60 * 1000;
/** How long events of mail are kept. */
export const EMAIL_EVENT_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000;
/** Bytes of one message of Amazon SNS; it sends no larger ones. */
export const MAX_SNS_MESSAGE_BYTES = 300 * 1024;
/** How old such a message may be. */
export const MAX_SNS_MESSAGE_AGE_MS = 60 * 60 * 1000;

/** Nodes of one chain; one after the other is asked until one answers. */
export const MAX_RPC_URLS = 8;
/** How long a node may take over one call ... */
export const NODE_TIMEOUT_MS = 10_000;
/** ... and how large its answer may be in bytes: several times the largest transaction, which stands in it in hex. */
export const MAX_NODE_ANSWER_BYTES = 1024 * 1024;
/** How often a chain's nodes must refuse a transaction until that is their last word. */
export const MAX_BROADCAST_REFUSALS = 4;

/** One-time codes: their life unless said and at most, in seconds. */
export const OTP_SECONDS = 300;
export const MAX_OTP_SECONDS = 600;
export const OTP_LENGTHS = { least: 6, most: 9, unlessSaid: 9 };
/** Wrong guesses at one code. */
export const MAX_OTP_TRIES = 3;
/** Codes of one contact that are good at the same time. */
export const MAX_LIVE_OTPS = 3;
/** Starts with one contact, and wrong guesses at all its codes, within this time. */
export const OTP_WINDOW_MS = 180_000;
export const MAX_OTP_STARTS = 3;
export const MAX_OTP_FAILURES = 9;
/** Plaintext of a client's guess: a code and a public key. */
export const MAX_OTP_BUNDLE_BYTES = 1024;
/** Tokens that prove a contact: their life unless said and at most, in seconds. */
export const VERIFICATION_TOKEN_SECONDS = 3600;
export const MAX_VERIFICATION_TOKEN_SECONDS = 86_400;

/** Characters of an OIDC token ... */
export const MAX_OIDC_TOKEN_LENGTH = 64 * 1024;
/** ... and of its issuer, its subject and its audience; ... */
export const MAX_OIDC_CLAIM_LENGTH = 255;
/** ... and tokens in one request: each may have another issuer asked. */
export const MAX_OIDC_TOKENS = 100;
/** How far the clocks of this server and of an issuer may be apart. */
export const OIDC_CLOCK_SKEW_MS = 60_000;
/** How long an issuer may take over its discovery document, and as long again over its keys ... */
export const ISSUER_TIMEOUT_MS = 5_000;
/** ... how large each may be in bytes ... */
export const MAX_ISSUER_DOCUMENT_BYTES = 128 * 1024;
/** ... and how many keys there may be. */
export const MAX_ISSUER_KEYS = 64;
/** An issuer's keys are kept as long as it says, but no shorter and no longer than this; if it says nothing, ... */
export const MIN_KEY_SET_LIFETIME_MS = 30_000;
export const MAX_KEY_SET_LIFETIME_MS = 24 * 60 * 60 * 1000;
/** ... this long. */
export const DEFAULT_KEY_SET_LIFETIME_MS = 5 * 60 * 1000;
/** A token that names an unknown key has its issuer asked again, at most once in this time ... */
export const UNKNOWN_KEY_PAUSE_MS = 30_000;
/** ... and an issuer that gave no keys is left alone this long. */
export const ISSUER_FAILURE_PAUSE_MS = 5_000;
/** Issuers whose keys are kept, by number and by bytes of their answers ... */
export const MAX_KNOWN_ISSUERS = 1000;
export const MAX_KNOWN_ISSUER_BYTES = 16 * 1024 * 1024;
/** ... and issuers that are asked at one time, for one organization and in all. */
export const MAX_ISSUER_FETCHES_OF_ONE_ORGANIZATION = 4;
export const MAX_ISSUER_FETCHES = 64;

/** Bytes of an OAuth 2.0 client secret ... */
export const MAX_CLIENT_SECRET_BYTES = 4096;
/** ... and characters of the code, the verifier and the URL of an exchange, each. */
export const MAX_OAUTH2_FIELD_LENGTH = 4096;
/** How long an OAuth 2.0 provider may take over each of its two answers, and how large they may be in bytes. */
export const OAUTH2_TIMEOUT_MS = 10_000;
export const MAX_OAUTH2_ANSWER_BYTES = 64 * 1024;
/** How long what a code was exchanged for is kept, for the same request again while its activity is being stored ... */
export const EXCHANGE_LIFETIME_MS = 60_000;
/** ... and how many such are kept. */
export const MAX_KEPT_EXCHANGES = 1000;
/** How long a token is good that this service issues for somebody known to an OAuth 2.0 provider. */
export const ISSUED_TOKEN_LIFETIME_MS = 15 * 60 * 1000;
