// Ten questions, each answered by a world that one runs. The engine judges, not this page.

const owners = (state, client) => state.nodes.filter(node => node.keys.some(key => key.owner === client)).length;
const held = (state, clients) => state.resource.holders.join() === clients.join();
const whoHolds = state => (held(state, []) ? 0 : held(state, [0]) ? 1 : held(state, [1]) ? 2 : 3);
const WHO = ['Nobody', 'A', 'B', 'A and B'];
const yesIf = truth => (truth ? 0 : 1);
const YES = ['Yes', 'No'];
const N5 = 'n=5&c=2&seed=1&do=', N3 = 'n=3&c=2&seed=1&guard=';

// answer(state) is the number of the option that the world shows when it has run until then, where the
// answer is to be seen. why gives the reason alone.
export const QUESTIONS = [
    { ask: 'A reaches two of four nodes, and both grant. Who holds the lock?', options: WHO, answer: whoHolds, until: 520050,
      link: 'n=4&c=2&seed=1&do=0:cutto.A.2,0:cutto.A.3,20000:acquire.A',
      why: 'The quorum is three of four, of the nodes that are configured, not of those that answered: else B could get the other two.' },
    { ask: 'A and B ask all five nodes at the same moment. Can both win?', options: YES, until: 300,
      answer: state => yesIf(state.resource.holders.length > 1), link: `${N5}0:acquire.A,0:acquire.B`,
      why: 'Any three of five and any other three have a node in common, and a node grants the key once.' },
    { ask: 'Two of five nodes are killed. Can A still get the lock?', options: YES, answer: state => yesIf(held(state, [0])), until: 20300,
      link: `${N5}0:kill.3,0:kill.4,20000:acquire.A`, why: 'Three are left, and three of five are a quorum.' },
    { ask: 'The answers of nodes 2, 3 and 4 never reach A. Do these nodes have A\'s key, 0.2 ms after A asked?', options: YES, until: 200,
      answer: state => yesIf(owners(state, 0) === 5), link: `${N5}0:cutfrom.A.2,0:cutfrom.A.3,0:cutfrom.A.4,0:acquire.A`,
      why: 'No answer does not mean that nothing was done. So A releases the lock where no answer came, too: B would wait for the TTL otherwise.' },
    { ask: 'A is stopped for 11 s with a TTL of 10 s; then B asks, and A goes on. Who holds the lock?', options: WHO, answer: whoHolds,
      until: 11000600, link: `${N5}0:acquire.A,200:freeze.A,11000200:acquire.B,11000500:wake.A`,
      why: 'A\'s keys ran out after 10 s, so B could get them. By A\'s own clock its validity ended even before: A knows it as soon as it reads its clock.' },
    { ask: 'The same, but A\'s machine sleeps, and its clock stands still meanwhile. Who believes that it holds the lock?', options: WHO,
      answer: whoHolds, until: 11000600, link: `${N5}0:acquire.A,200:suspend.A.0,11000200:acquire.B,11000500:wake.A`,
      why: 'A\'s validity is measured by a clock that missed the sleep (CLOCK_MONOTONIC). One that counts it (CLOCK_BOOTTIME) would do; ' +
          'a ticket that the resource checks helps with any clock.' },
    { ask: 'A sleeps past its lock, B gets it, and A wakes up and releases. Does B keep its keys?', options: YES, until: 11001000,
      answer: state => yesIf(owners(state, 1) === 5), link: `${N5}0:acquire.A,200:freeze.A,11000200:acquire.B,11000500:wake.A,11000600:release.A`,
      why: 'The value of a key is the token of the attempt that set it, random bytes. A release names its token, and a node deletes the key only ' +
          'if that is its value: these keys have B\'s.' },
    { ask: 'A holds nodes 0 and 1 of three. Node 1 restarts empty, and B asks at once; there is no guard. Who holds the lock?', options: WHO,
      answer: whoHolds, until: 40600, link: `${N3}0&do=0:cut.A.2,20000:acquire.A,20500:empty.1,40000:acquire.B`,
      why: 'Node 1 is in both quorums, and forgot that it had granted the key to A.' },
    { ask: 'The same with a guard of 30 s. Who holds the lock?', options: WHO, answer: whoHolds, until: 40600,
      link: `${N3}30000&do=0:cut.A.2,20000:acquire.A,20500:empty.1,40000:acquire.B`,
      why: 'For the guard a node that has restarted has no vote. It is longer than every TTL in use, so when it is over every lock that the node ' +
          'may have forgotten has run out.' },
    { ask: 'A sleeps past its lock, B gets it and writes. A wakes up and writes without asking; the resource checks tickets. Is A\'s write admitted?',
      options: YES, answer: state => yesIf(state.resource.refused === 0), until: 11001200,
      link: 'n=5&c=2&seed=1&tickets=1&do=0:acquire.A,500:write.A,600:freeze.A,11000400:acquire.B,11000900:write.B,11001000:wake.A,11001100:blind.A',
      why: 'A ticket is the time of a client\'s clock, or one more than the largest that a node has told it of. A node in both quorums told B of ' +
          'A\'s; so B\'s is larger. The resource has seen it, and refuses a smaller one.' }
];
