# Reads lcov's format and prints a line for each file of resp/ and redlock/ below the client. See tests/coverage/run.
use strict;
use warnings;

my ($root, $broken, $show) = @ARGV;
my (%lines, %branches, $file);

while (<STDIN>) {
    if    (/^SF:(.*)/)               { ($file = $1) =~ s/^\Q$root\E// }
    elsif (/^DA:(\d+),(\d+)/)        { $lines{$file}{$1} += $2 }
    elsif (/^BRDA:(\d+),(\d+),(\d+),(\d+|-)/) { $branches{$file}{$1}{"$2,$3"} += $4 eq '-' ? 0 : $4 }
}

# The branches that were never taken, as [line, "true" or "false"].
sub missed {
    my ($file) = @_;
    my @missed;
    for my $line (sort { $a <=> $b } keys %{ $branches{$file} }) {
        my $text = source_line($file, $line);
        # An assumption of the code; and the way past a switch that names every value.
        if ($text =~ /REDLOCK_CHECK\(|^switch \(/) { delete $branches{$file}{$line}; next }
        my $taken = $branches{$file}{$line};
        for my $branch (sort keys %$taken) {
            push @missed, [$line, $branch =~ /[02468]$/ ? 'true' : 'false'] if $taken->{$branch} == 0;
        }
    }
    return @missed;
}

sub source_line {
    my ($file, $number) = @_;
    open my $source, '<', "$root$file" or return '';
    while (my $text = <$source>) { return $text =~ s/^\s+|\s+$//gr if $. == $number }
    return '';
}

my @files = grep { m{^(resp|redlock)/.*\.[ch]$} && !m{/(client|unity_\w+)\.c$} } sort keys %lines;
my ($passed, $failed) = (0, $broken);
printf "%-24s %16s %22s\n", 'file', 'lines', 'branches';
for my $file (@files) {
    my $line_count = keys %{ $lines{$file} };
    my $lines_run = grep { $_ > 0 } values %{ $lines{$file} };
    my @missed = missed($file);
    my $branch_count = 0;
    $branch_count += keys %$_ for values %{ $branches{$file} };
    printf "%-24s %6d of %6d %6d of %6d  %5.1f %%\n", $file, $lines_run, $line_count, $branch_count - @missed, $branch_count,
        $branch_count ? 100 * ($branch_count - @missed) / $branch_count : 100;
    if ($show) { printf "    %s:%d: never %s: %s\n", $file, @$_, source_line($file, $_->[0]) for @missed }
    @missed ? $failed++ : $passed++;
}
$failed++ if !@files;
print "$passed passed, $failed failed\n";
exit($failed ? 1 : 0);
