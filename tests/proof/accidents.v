(* What breaks when one assumption is dropped and all others hold. One node is enough for most. *)
From Coq Require Import List ZArith Lia.
From redlock Require Import clocks quorum exclusion plain tickets.
From redlock Require shared periods.
Import ListNotations.
Open Scope Z_scope.

Inductive rule :=
| None_dropped
| Majority        (* S1 *)
| True_votes      (* S3, S4, S8 *)
| Covered_clocks  (* S2: the drift factor covers the clocks *)
| Right_clocks    (* S2: the clocks run as is assumed *)
| Own_releases    (* S6, S7, S27 *)
| Kept_guard      (* S11 *)
| Short_ttl       (* S11 *)
| Undisturbed.    (* S12, and "keys are not deleted by others" *)

Definition unless (dropped r : rule) (p : Prop) := dropped = r \/ p.

(* What a round that was won has, but for one rule. *)
Definition won_but (dropped : rule) (w : world plain) (quorum : nat) (r : round plain) :=
  unless dropped True_votes (votes_are_true w r) /\
  unless dropped Covered_clocks (covers (clock_errors w) (ttl r) (drift r)) /\
  unless dropped Kept_guard
    (forall n i k, In (n, i) (grants_counted r) -> (k < i)%nat -> restarts plain (nodes w n) k ->
      counted (clock_errors w) (guard w) (at_time (nodes w n) k) (at_time (nodes w n) i)) /\
  unless dropped Short_ttl (ttl r <= guard w) /\
  (quorum <= length (grants_counted r))%nat /\ elapsed w r (decided r) + drift r < ttl r.

(* Two hold the lock at one time, although a single rule was dropped. *)
Definition accident (dropped : rule) (w : world plain) (quorum : nat) (a b : round plain) now :=
  in_order w /\
  unless dropped Right_clocks (clocks_run_right w []) /\
  unless dropped Own_releases (releases_are_own w []) /\
  unless dropped Undisturbed (undisturbed w []) /\
  unless dropped Majority (node_count w < 2 * quorum)%nat /\
  won_but dropped w quorum a /\ won_but dropped w quorum b /\
  promises w a now /\ promises w b now /\ signed a <> signed b.

(* With none dropped there is no accident. *)
Theorem no_accident_without_a_cause w quorum a b now : ~ accident None_dropped w quorum a b now.
Proof.
  intros [Ho [Hc [Hr [Hu [Hm [Wa [Wb [Pa [Pb Hne]]]]]]]]].
  assert (A : forall r p, unless None_dropped r p -> r <> None_dropped -> p) by (unfold unless;
    intuition congruence).
  assert (W : forall r, won_but None_dropped w quorum r -> won w [] quorum r).
  { intros r [V [C [G [S [Q E]]]]].
    apply A in V; [|discriminate]. apply A in C; [|discriminate]. apply A in G; [|discriminate].
    apply A in S; [|discriminate].
    unfold won, guard_is_kept. repeat (split; [assumption|]). split; [|auto]. split; [assumption|].
    intros n i k Hin _. apply G. assumption. }
  apply A in Hc; [|discriminate]. apply A in Hr; [|discriminate]. apply A in Hu; [|discriminate].
  apply A in Hm; [|discriminate].
  refine (promises_exclude w [] quorum plain_is_sound Ho Hc Hu Hr _ a b now (W a Wa)
    (W b Wb) Pa Pb Hne). simpl. lia.
Qed.

(* ---- Small worlds ---- *)

Definition free : state := {| key := None; counter := None |}.
Definition taken (t : nat) (until : Z) : state :=
  {| key := Some {| holder := t; ends := until |}; counter := None |}.
Definition take (t : nat) : event := Acquire t 10 None.

(* After the events of a list, each with its time, nothing happens. *)
Fixpoint pick (l : list (Z * event)) (k : nat) : Z * event :=
  match l, k with
  | [], _ => (1000, Sweep)
  | x :: _, O => x
  | _ :: rest, S k' => pick rest k'
  end.
Definition tells (c : Z -> Z) (l : list (Z * event)) : history plain :=
  {| clock := c; first := free;
     at_time := fun k => fst (pick l k); does := fun k => snd (pick l k) |}.

Definition true_time (t : Z) := t.
Definition exact : errors := {| fast := 0; slow := 0; server_grain := 0; client_grain := 0 |}.
Definition never (t : token) : option Z := None.

Definition lone (server client : Z -> Z) (released : token -> option Z) (l : list (Z * event)) :
  world plain :=
  {| node_count := 1; nodes := fun _ => tells server l; client_clocks := fun _ => client;
     release_began := released; clock_errors := exact; guard := 10 |}.

(* A round of the client with this number, which is its token, too: a TTL of 10, granted by node n
   in its event i. *)
Definition takes_part (c n i : nat) (start finish : Z) : round plain :=
  {| client := c; signed := c : claim plain; ttl := 10; drift := 0;
     started := start; decided := finish; grants_counted := [(n, i)] |}.

Ltac cases_of k := destruct k as [|[|[|[|k]]]].
Ltac show_order := intros n i j Hij; cases_of i; cases_of j; simpl in *; lia.
Lemma true_time_is_right :
  sane exact /\ server_clock exact true_time /\ client_clock exact true_time.
Proof.
  unfold sane, server_clock, client_clock, runs_no_faster, runs_no_slower, true_time, exact,
    million.
  cbn [fast slow server_grain client_grain]. repeat split; intros; lia.
Qed.
Ltac show_clocks := split; [apply true_time_is_right|split; intros; apply true_time_is_right].
Ltac show_undisturbed := intros n k _ [after E]; cases_of k; simpl in E; discriminate.
Ltac show_releases := intros n k t _; cases_of k; simpl; discriminate.
Ltac show_votes := split; [repeat constructor; simpl; tauto|];
  intros n i Hin; simpl in Hin; destruct Hin as [Hin|[]]; inversion Hin; subst; clear Hin;
  (split; [simpl; lia|split; [split; [left; eexists; reflexivity|reflexivity]|simpl; lia]]).
Ltac show_guard := intros n i k Hin Hk [kept E]; simpl in Hin; destruct Hin as [Hin|[]];
  inversion Hin; subst; clear Hin;
  cases_of k; simpl in *; try discriminate; try lia; unfold counted, million, exact; simpl; lia.
Ltac show_promise := split; [simpl; lia|split; [vm_compute; reflexivity|intros y Hy; simpl in Hy;
  try discriminate]].
Ltac part tac := first [left; reflexivity | right; tac].
Ltac show_won := split; [part show_votes|split; [part ltac:(unfold covers, million, exact; simpl;
  lia)|
  split; [part show_guard|split; [part ltac:(simpl; lia)|split; [simpl; lia|vm_compute;
    reflexivity]]]]].
Ltac show_accident := split; [show_order|split; [part show_clocks|split; [part show_releases|split;
  [part show_undisturbed|
  split; [part ltac:(simpl; lia)|split; [show_won|split; [show_won|split; [show_promise|split;
    [show_promise|discriminate]]]]]]]]].

(* ---- Not promised: the lines of redlock(7) ---- *)

(* "Node restarts empty, without the guard." *)
Definition restarts (memory : state) := lone true_time true_time never [(1, take 1);
  (2, Restart memory); (3, take 2)].
Theorem restart_without_guard : accident Kept_guard (restarts free) 1 (takes_part 1 0 0 0 1)
  (takes_part 2 0 2 2 3) 4.
Proof. show_accident. Qed.

(* "Failover to a stale replica behind the same connection", "durable node restarts with an old
   memory, or without its last writes": the client sees no restart, and the node has an older key
   than ours, which has ended. *)
Theorem stale_failover_without_guard : accident Kept_guard (restarts (taken 3 0)) 1
  (takes_part 1 0 0 0 1) (takes_part 2 0 2 2 3) 4.
Proof. show_accident. Qed.

(* A TTL longer than the guard. The node restarts at 2, and the guard of 10 is kept until 12. *)
Definition takes_longer (c i : nat) (start finish long : Z) : round plain :=
  {| client := c; signed := c : claim plain; ttl := long; drift := 0;
     started := start; decided := finish; grants_counted := [(O, i)] |}.
Definition outlived :=
  lone true_time true_time never [(1, Acquire 1%nat 50 None); (2, Restart free); (12, take 2)].
Theorem ttl_over_guard :
  accident Short_ttl outlived 1 (takes_longer 1 0 0 1 50) (takes_part 2 0 2 11 12) 13.
Proof. show_accident. Qed.

(* "Eviction", "FLUSHALL", a DEL by a person. *)
Definition meddled (after : state) :=
  lone true_time true_time never [(1, take 1); (2, Foreign after); (3, take 2)].
Theorem key_deleted_by_others :
  accident Undisturbed (meddled free) 1 (takes_part 1 0 0 0 1) (takes_part 2 0 2 2 3) 4.
Proof. show_accident. Qed.

(* S7: a bare PEXPIRE with a shorter TTL, of a late extension, say. *)
Theorem key_shortened_by_others :
  accident Undisturbed (meddled (taken 1 3)) 1 (takes_part 1 0 0 0 1) (takes_part 2 0 2 2 3) 4.
Proof. show_accident. Qed.

(* "Node's clock stepped forward." *)
Definition steps_at_two (t : Z) := if t <? 2 then t else t + 100.
Theorem server_clock_stepped_forward :
  accident Right_clocks (lone steps_at_two true_time never [(1, take 1); (3, take 2)]) 1
    (takes_part 1 0 0 0 1) (takes_part 2 0 1 2 3) 4.
Proof. show_accident. Qed.

(* "Clock rates differ beyond the drift factor": the server's clock runs ten times as fast. *)
Definition runs_wild (t : Z) := 10 * t.
Theorem server_clock_beyond_drift :
  accident Right_clocks (lone runs_wild true_time never [(1, take 1); (3, take 2)]) 1
    (takes_part 1 0 0 0 1) (takes_part 2 0 1 2 3) 3.
Proof. show_accident. Qed.

(* The same, if it is known that clocks may err so much, and the drift does not cover it. *)
Definition wild : errors := {| fast := 9000000; slow := 0; server_grain := 0; client_grain := 0 |}.
Definition known_to_be_wild : world plain :=
  {| node_count := 1; nodes := fun _ => tells runs_wild [(1, take 1); (3, take 2)];
     client_clocks := fun _ => true_time; release_began := never; clock_errors := wild;
     guard := 10 |}.
Theorem drift_too_small :
  accident Covered_clocks known_to_be_wild 1 (takes_part 1 0 0 0 1) (takes_part 2 0 1 2 3) 3.
Proof.
  split; [show_order|]. split.
  { right. unfold clocks_run_right, sane, server_clock, client_clock, runs_no_faster,
    runs_no_slower, known_to_be_wild, tells, plain,
      true_time, runs_wild, million, wild.
    cbn [clock_of clock_errors nodes client_clocks clock fast slow server_grain client_grain].
    repeat split; intros; lia. }
  repeat split; try (right; show_releases); try (right; show_undisturbed); try (right; simpl; lia);
    try (left; reflexivity);
    try (right; show_votes); try (right; show_guard); try (vm_compute; reflexivity); simpl; try lia;
      try discriminate.
Qed.

(* "Client suspended, clock stands still." *)
Definition stands (t : Z) : Z := 0.
Theorem client_clock_stands_still :
  accident Right_clocks (lone true_time stands never [(1, take 1); (12, take 2)]) 1
    (takes_part 1 0 0 0 1) (takes_part 2 0 1 11 12) 13.
Proof. show_accident. Qed.

(* A client's clock that runs fast ends the guard early. No server's clock gains on any client's
   here, which is what redlock(7) says of the rates in numbers. *)
Definition hasty_clock (c : nat) (t : Z) := match c with 2%nat => 10 * t | _ => t end.
Definition hasty : world plain :=
  {| node_count := 1;
     nodes := fun _ => tells true_time [(1, take 1); (2, Restart free); (3, take 2)];
     client_clocks := hasty_clock; release_began := never; clock_errors := exact; guard := 10 |}.
Theorem fast_client_ends_the_guard_early :
  let a := takes_part 1 0 0 0 1 in
  let b := takes_part 2 0 2 3 3 in
  in_order hasty /\ undisturbed hasty [] /\ releases_are_own hasty [] /\
  (forall n, server_clock exact (clock_of plain (nodes hasty n))) /\
  (forall c t t', t <= t' -> true_time t' - true_time t <= hasty_clock c t' - hasty_clock c t) /\
  guard hasty <= hasty_clock 2 3 - hasty_clock 2 2 /\
  won_but Kept_guard hasty 1 a /\ won_but Kept_guard hasty 1 b /\
  promises hasty a 3 /\ promises hasty b 3 /\ signed a <> signed b.
Proof.
  split; [show_order|]. split; [show_undisturbed|]. split; [show_releases|].
  split; [intro; apply true_time_is_right|]. split.
  { intros c t t' H. unfold true_time, hasty_clock. destruct c as [|[|[|c]]]; lia. }
  split; [vm_compute; discriminate|]. split; [show_won|]. split; [show_won|].
  split; [show_promise|]. split; [show_promise|discriminate].
Qed.

(* S1: half of the nodes is no quorum; neither is a majority of those that answered. *)
Definition halves : world plain :=
  {| node_count := 2; nodes := fun n => tells true_time [(1, take (S n))];
     client_clocks := fun _ => true_time; release_began := never; clock_errors := exact;
     guard := 10 |}.
Theorem half_is_no_quorum :
  accident Majority halves 1 (takes_part 1 0 0 0 1) (takes_part 2 1 0 0 1) 2.
Proof. show_accident. Qed.

(* S6: one token for two attempts. The first attempt's late release, from before the second began,
   is executed in the second. *)
Definition released_late :=
  lone true_time true_time never [(1, take 1); (2, Release 1%nat); (3, take 2)].
Theorem one_token_for_two_attempts :
  accident Own_releases released_late 1 (takes_part 1 0 0 0 1) (takes_part 2 0 2 2 3) 4.
Proof. show_accident. Qed.

(* S8: an answer is counted for a later round, as if the node had set the key in that round. *)
Theorem late_answer_counted :
  accident True_votes (lone true_time true_time never [(1, take 1); (12, take 2)]) 1
    (takes_part 1 0 0 9 10) (takes_part 2 0 1 11 12) 13.
Proof. show_accident. Qed.

(* "Holder paused past its validity acts without asking." No rule of the lock is broken. What was
   true at 2 is not true at 13, when another holds the lock. *)
Definition pauses := lone true_time true_time never [(1, take 1); (12, take 2)].
Theorem paused_holder_acts_late :
  held pauses [] 1 1%nat 2 /\ held pauses [] 1 2%nat 13 /\ ~ held pauses [] 1 1%nat 13.
Proof.
  assert (O : in_order pauses) by show_order.
  assert (C : clocks_run_right pauses []) by show_clocks.
  assert (U : undisturbed pauses []) by show_undisturbed.
  assert (R : releases_are_own pauses []) by show_releases.
  assert (G : forall r : round plain, ttl r <= 10 -> guard_is_kept pauses [] r).
  { intros r Ht. split; [exact Ht|]. intros n i k _ _ _ [kept E].
  cases_of k; simpl in E; discriminate. }
  assert (A : held pauses [] 1 1%nat 2).
  { exists (takes_part 1 0 0 0 1). split; [reflexivity|]. split; [|show_promise].
    split; [show_votes|]. split; [apply G; simpl; lia|].
    split; [unfold covers, million; simpl; lia|].
    split; [simpl; lia|vm_compute; reflexivity]. }
  assert (B : held pauses [] 1 2%nat 13).
  { exists (takes_part 2 0 1 11 12). split; [reflexivity|]. split; [|show_promise].
    split; [show_votes|]. split; [apply G; simpl; lia|].
    split; [unfold covers, million; simpl; lia|].
    split; [simpl; lia|vm_compute; reflexivity]. }
  split; [assumption|]. split; [assumption|]. intro H.
  refine (held_excludes pauses [] 1 plain_is_sound O C U R _ 1%nat 2%nat 13 H B _); simpl;
    [lia|discriminate].
Qed.

(* ---- Tickets ---- *)

Definition shown (number : Z) : ticket := {| number := number; life := 1000; skew := 40 |}.
Definition take_with (t : nat) (number : Z) : event := Acquire t 10 (Some (shown number)).

(* A later holder has a smaller ticket. The lock itself is as it should be. *)
Definition ticket_accident (w : world plain) walls (a b : round plain) (f g : ticket) :=
  in_order w /\ clocks_run_right w [] /\ undisturbed w [] /\ releases_are_own w [] /\
  won_with w [] 1 a f /\ won_with w [] 1 b g /\
  proposes 40 walls a f /\ proposes 40 walls b g /\
  signed a <> signed b /\ decided a < started b /\ number g < number f.

Ltac show_guarded := intros n i k Hin _ Hk [kept E]; simpl in Hin; destruct Hin as [Hin|[]];
  inversion Hin; subst; clear Hin;
  cases_of k; simpl in E; try discriminate; try lia; vm_compute; discriminate.
Ltac show_round := split; [show_votes|split; [split; [simpl; lia|show_guarded]|
  split; [unfold covers, million; simpl; lia|split; [simpl; lia|vm_compute; reflexivity]]]].
Ltac show_round_with := split; [show_round|intros n i Hin; simpl in Hin; destruct Hin as [Hin|[]];
  inversion Hin; reflexivity].
Ltac show_ticket_accident := split; [show_order|split; [show_clocks|split; [show_undisturbed|split;
  [show_releases|
  split; [show_round_with|split; [show_round_with|split; [split; [vm_compute;
    discriminate|reflexivity]|
  split; [split; [vm_compute; discriminate|reflexivity]|split; [discriminate|split; vm_compute;
    reflexivity]]]]]]]]].

(* "Tickets: nodes restart empty, without the guard" that is longer by twice the skew. The guard of
   a plain lock, 10 since the restart at 2, is kept, and all wall clocks are right. *)
Definition forgets_early :=
  lone true_time true_time never [(1, take_with 1 41); (2, Restart free); (13, take_with 2 12)].
Theorem guard_of_plain_locks_is_too_short_for_tickets :
  walls_agree forgets_early [] 40 0 (fun _ => true_time) /\
  ticket_accident forgets_early (fun _ => true_time)
    (takes_part 1 0 0 0 1) (takes_part 2 0 2 12 13) (shown 41) (shown 12).
Proof.
  split; [|show_ticket_accident].
  unfold walls_agree, forgets_early, lone, tells, true_time, million, exact.
  cbn [clock_errors nodes clock fast]. repeat split; intros; lia.
Qed.

(* "Tickets: nodes restart empty, wall clocks differ by more than the skew." The guard for tickets,
   90, is kept. *)
Definition late_wall (c : nat) (t : Z) := match c with 2%nat => t - 80 | _ => t end.
Definition forgets_long_ago :=
  lone true_time true_time never [(1, take_with 1 41); (2, Restart free); (93, take_with 2 12)].
Theorem wall_clocks_beyond_skew :
  guard_for_tickets_is_kept forgets_long_ago [] 40 (takes_part 2 0 2 92 93) /\
  ticket_accident forgets_long_ago late_wall
    (takes_part 1 0 0 0 1) (takes_part 2 0 2 92 93) (shown 41) (shown 12).
Proof. split; [show_guarded|show_ticket_accident]. Qed.

(* ---- Readers and writers ---- *)

(* "Shared locks: FLUSHALL, a restart without the guard": a node that forgets a reader gives the key
   to a writer. *)
Theorem forgotten_reader_is_beside_a_writer :
  let reader := {| shared.lock := 1; shared.digits := 1 |} in
  let writer := {| shared.lock := 2; shared.digits := 2 |} in
  let empty := {| shared.key := None; shared.readers := [] |} in
  let s := shared.step 1 empty (shared.Read reader 10) in
  shared.grants 3 s (shared.Write writer 10) = false /\
  shared.grants 3 (shared.step 2 s (shared.Restart empty)) (shared.Write writer 10) = true.
Proof. split; reflexivity. Qed.

(* Redisson before its pull request 2144: a reader that sets the key's TTL to its own cuts another
   reader's. *)
Theorem short_reader_must_not_shorten_the_key :
  let long := {| shared.lock := 1; shared.digits := 1 |} in
  let short := {| shared.lock := 2; shared.digits := 2 |} in
  let writer := {| shared.lock := 3; shared.digits := 3 |} in
  let s := shared.step 1 {| shared.key := None; shared.readers := [] |} (shared.Read long 10) in
  shared.grants 5 (shared.step 2 s (shared.Read short 1)) (shared.Write writer 10) = false /\
  let shortened :=
    {| shared.key := Some (shared.Shared, 3); shared.readers := [(short, 3); (long, 11)] |} in
  shared.grants 5 shortened (shared.Write writer 10) = true.
Proof. split; reflexivity. Qed.

(* ---- Once per period ---- *)

(* "Once per period: nodes restart empty and take part": one period, two markers. *)
Definition marked : periods.node := {|
  periods.clock := true_time; periods.first := None;
  periods.at_time := fun k => Z.of_nat k;
  periods.does := fun k => match k with
    | 1%nat => periods.Mark 0 1 1 1000 5
    | 2%nat => periods.Restart None
    | 3%nat => periods.Mark 0 2 3 1000 5
    | _ => periods.Other end |}.
Theorem forgotten_mark_lets_a_job_run_twice :
  periods.grants 1 (periods.before marked 1) (periods.does marked 1) = true /\
  periods.grants 3 (periods.before marked 3) (periods.does marked 3) = true.
Proof. split; reflexivity. Qed.
