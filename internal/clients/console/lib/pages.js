// Every page of the console. Each has a name, and a path, made of what furnish says of the
// project. Add yours here: test/pages.test.js does the rest.

const name = encodeURIComponent;

export const pages = [
  { name: 'home', path: () => '/console/' },
  { name: 'claims', path: () => '/console/claims' },
  { name: 'claims found', path: () => '/console/claims?q=bank' },
  { name: 'claims nothing found', path: () => '/console/claims?q=zzzzqqq' },
  { name: 'claim', path: (p) => `/console/claims/${p.claims['retry three']}` },
  { name: 'turns', path: () => '/console/turns' },
  { name: 'turns without a block', path: () => '/console/turns?block=none&span=week&q=the' },
  { name: 'turn', path: (p) => `/console/turns/${p.turns['today 2']}` },
  { name: 'review', path: () => '/console/review' },
  { name: 'attention', path: () => '/console/attention' },
  { name: 'attention of one reason', path: () => '/console/attention?event=unsure' },
  { name: 'sessions', path: () => '/console/sessions' },
  { name: 'session', path: (p) => `/console/sessions/${name(p.sessions.incident)}` },
  { name: 'changes', path: () => '/console/changes' },
  { name: 'files', path: (p) => `/console/files?path=${name(p.files[0])}` },
  { name: 'agent', path: (p) => `/console/agents/${name(p.agents[0])}` },
  { name: 'entities', path: () => '/console/entities' },
  { name: 'entity', path: (p) => `/console/entities/${name(p.entities[0])}` },
  { name: 'code', path: () => '/console/code' },
  { name: 'decisions', path: () => '/console/decisions' },
  { name: 'decision', path: (p) => `/console/decisions/${p.decisions[4]}` },
  { name: 'objectives', path: () => '/console/objectives' },
  { name: 'drift', path: () => '/console/drift' },
  { name: 'health', path: () => '/console/health' },
  { name: 'health between', path: () => `/console/health?from=${new Date(Date.now() - 6 * 86400e3).toISOString().slice(0, 16)}` },
  { name: 'jobs', path: () => '/console/jobs' },
  { name: 'sweeps', path: () => '/console/sweeps' },
  { name: 'keys', path: () => '/console/keys' },
];

// hostilePages are those that show what was written to do harm.
export const hostilePages = [
  ...['script', 'links', 'template', 'closing', 'unseen', 'word', 'huge', 'right to left', 'pattern', 'hot'].map((what) => ({
    name: `hostile ${what}`,
    path: (p) => `/console/claims/${p.claims[`hostile ${what}`]}`,
  })),
  ...[1, 2, 3].map((n) => ({ name: `hostile turn ${n}`, path: (p) => `/console/turns/${p.turns[`hostile ${n}`]}` })),
  { name: 'hostile turns', path: (p) => `/console/turns?agent=${name(p.hostile.agent)}` },
  { name: 'hostile session', path: (p) => `/console/sessions/${name(p.sessions.hostile)}` },
  { name: 'hostile agent', path: (p) => `/console/agents/${name(p.hostile.agent)}` },
  { name: 'hostile entity', path: (p) => `/console/entities/${name(p.hostile.entity)}` },
  { name: 'hostile entities', path: () => `/console/entities?q=${name('<img')}` },
  { name: 'hostile file', path: (p) => `/console/files?path=${name(p.hostile.file)}` },
  { name: 'hostile files', path: () => '/console/files?q=docs' },
  { name: 'hostile narrowing', path: (p) => `/console/claims?agent=${name(p.hostile.agent)}&tag=${name('<script>window.pwned=1</script>')}` },
  { name: 'hostile search', path: () => `/console/claims?q=${name('<script>window.pwned=1</script>"><img src=x onerror=window.pwned=1>')}` },
  { name: 'hostile problem', path: () => `/console/turns?mode=${name('"><img src=x onerror=window.pwned=1>')}` },
];
